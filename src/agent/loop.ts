// The long-running service: applies at the start, then checks for changes, cheaply, for as long as the machine runs.
import type { TimelineMark } from '../domain/node/report.ts';
import type { Agent } from './agent.ts';
import { nodeError, type Reporter } from './report/reporter.ts';
import type { AgentSettings } from './settings.ts';
import { parseObject, type System } from './system/system.ts';

export interface Loop {
  /** Never returns. */
  run(): Promise<never>;
  /**
   * Handles a line from the host of the machine: an empty object requests a check and a report, `allow` allows a change,
   * `deny` revokes that.
   */
  hear(line: string): void;
}

const repeatMs = 30_000;
const maxPauseMs = 600_000;

export function createLoop(system: System, settings: AgentSettings, agent: Agent, reporter: Reporter): Loop {
  let wake: (() => void) | undefined;
  let woken = false;

  function wakeUp(): void {
    woken = true;
    wake?.();
  }

  /** Waits until the time is over, or the host sends a line. */
  async function pause(ms: number): Promise<void> {
    const asked = new Promise<void>((resolve) => {
      wake = resolve;
    });
    if (!woken) await Promise.race([system.sleep(ms), asked]);
    woken = false;
    wake = undefined;
  }

  async function startAgent(): Promise<void> {
    for (let wait = settings.pollMs; ; wait = Math.min(wait * 2, maxPauseMs)) {
      try {
        return await agent.start();
      } catch (thrown) {
        reporter.update({ phase: 'failed', error: { ...nodeError(thrown), retry: true } });
      }
      await pause(wait);
    }
  }

  return {
    async run() {
      reporter.mark('agent');
      reporter.update({ phase: 'booting' });
      await startAgent();
      await agent.look();
      for (const { name, ms } of await bootMarks(system)) reporter.mark(name, ms);
      reporter.update({});
      let sentAt = system.uptimeMs();
      let retryMs = settings.pollMs;
      let triedAt = system.uptimeMs();
      for (;;) {
        await pause(settings.pollMs);
        const { error } = reporter.current();
        const again = error?.retry === true && system.uptimeMs() - triedAt >= retryMs;
        if (again) {
          triedAt = system.uptimeMs();
          retryMs = Math.min(retryMs * 2, maxPauseMs);
        } else if (error === undefined) retryMs = settings.pollMs;
        await agent.look({ again });
        if (system.uptimeMs() - sentAt < repeatMs) continue;
        sentAt = system.uptimeMs();
        reporter.repeat();
      }
    },
    hear(line) {
      const message = parseObject(line);
      if (message === undefined) return;
      const { allow, deny, digest } = message;
      if ((allow === 'restart' || allow === 'drain') && typeof digest === 'string')
        agent.allow(allow, digest);
      if (typeof deny === 'string') agent.deny(deny);
      reporter.repeat();
      wakeUp();
    },
  };
}

/** Returns nothing if systemd does not report it. Stages before the kernel count backwards from its start. */
async function bootMarks(system: System): Promise<readonly TimelineMark[]> {
  const names = ['Firmware', 'Loader', 'InitRD', 'Userspace'];
  const { stdout } = await system.run([
    ...['systemctl', 'show', `--property=${names.map((name) => `${name}TimestampMonotonic`).join(',')}`],
  ]);
  const marks: TimelineMark[] = [{ name: 'kernel', ms: 0 }];
  for (const name of names) {
    const found = Number(new RegExp(`^${name}TimestampMonotonic=(\\d+)$`, 'm').exec(stdout)?.[1] ?? 0) / 1000;
    if (found === 0) continue;
    const before = name === 'Firmware' || name === 'Loader';
    marks.push({ name: name.toLowerCase(), ms: Math.round(before ? -found : found) });
  }
  return stdout === '' ? [] : marks.sort((a, b) => a.ms - b.ms);
}
