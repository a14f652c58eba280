// When the machine passed the stages before the agent, as systemd has noted them.
import type { TimelineMark } from '../../domain/node/report.ts';
import type { System } from '../system/system.ts';

/** Empty when systemd does not say. Stages before the kernel count backwards from its start. */
export async function bootMarks(system: System): Promise<readonly TimelineMark[]> {
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
