// Tells the platform how the first boot ended. In Azure a machine from a generalized image that says nothing counts
// as failed after 20 minutes.

import { nodeError } from '../report/reporter.ts';
import { platformReportPath } from '../system/paths.ts';
import { type Cancel, replaceFile, type System } from '../system/system.ts';
import { request } from './http.ts';

const headers = { 'x-ms-version': '2012-11-30', 'x-ms-agent-name': 'imago-agent' };
/** Where there is no such platform, it is asked for no more often than that. */
const pauseMs = 60_000;
/** Half of what Azure waits. */
const patienceMs = 600_000;

export type Outcome = { readonly ready: true } | { readonly ready: false; readonly why: string };

export interface Platform {
  /**
   * Once for each machine: a second call does nothing, also after a restart. When the platform cannot be told, calls
   * within the next minute do nothing, and a later one tries again. Never throws.
   */
  tell(outcome: Outcome): Promise<void>;
  /**
   * The machine has a config that it can use, and works on it. Should that take longer than the platform waits for
   * an outcome, it is told that the machine is ready: as such it is, and whether the node is stands in the node's own
   * report. To be cancelled when the outcome is known.
   */
  expect(): Cancel;
}

export function createPlatform(system: System, baseUrl: string, machineId: string): Platform {
  let triedMs: number | undefined;
  let telling: Promise<void> | undefined;

  function isTold(): boolean {
    return reportedMachine(system) === machineId;
  }

  async function tryOnce(outcome: Outcome): Promise<void> {
    triedMs = system.uptimeMs();
    try {
      if (!(await report(system, baseUrl, outcome))) return;
      await replaceFile(system, platformReportPath, `${JSON.stringify({ machineId })}\n`, 0o600);
    } catch (thrown) {
      system.log(`the platform's answer could not be noted: ${nodeError(thrown).message}`);
    }
  }

  async function tell(outcome: Outcome): Promise<void> {
    await telling;
    if (isTold() || (triedMs !== undefined && system.uptimeMs() - triedMs < pauseMs)) return;
    telling = tryOnce(outcome);
    await telling;
  }

  return {
    tell,
    expect() {
      if (isTold()) return () => undefined;
      let cancel: Cancel;
      const due = () => {
        void tell({ ready: true });
        cancel = system.later(pauseMs, due);
      };
      cancel = system.later(patienceMs, due);
      return () => cancel();
    },
  };
}

/** Only the agent writes it; one that is damaged counts as none. */
function reportedMachine(system: System): unknown {
  try {
    return (JSON.parse(system.readText(platformReportPath) ?? '{}') as { machineId?: string }).machineId;
  } catch {
    return undefined;
  }
}

/** False when there is nobody who could be told. */
async function report(system: System, baseUrl: string, outcome: Outcome): Promise<boolean> {
  const goal = await request(system, { url: `${baseUrl}/machine/?comp=goalstate`, headers });
  if (goal.kind === 'none' || goal.status !== 200) return false;
  const [incarnation, container, instance] = ['Incarnation', 'ContainerId', 'InstanceId'].map(
    (name) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(goal.body)?.[1],
  );
  if (incarnation === undefined || container === undefined || instance === undefined) return false;
  const answer = await request(system, {
    url: `${baseUrl}/machine/?comp=health`,
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'text/xml; charset=utf-8' },
    body: healthDocument(incarnation, container, instance, outcome),
  });
  return answer.kind === 'answer' && answer.status >= 200 && answer.status < 300;
}

/** What came from the goal state goes back as it was written there. */
function healthDocument(incarnation: string, container: string, instance: string, outcome: Outcome): string {
  const details = outcome.ready
    ? '<State>Ready</State>'
    : `<State>NotReady</State><Details><SubStatus>ProvisioningFailed</SubStatus><Description>${escapeXml(outcome.why)}</Description></Details>`;
  return [
    '<?xml version="1.0" encoding="utf-8"?><Health>',
    `<GoalStateIncarnation>${incarnation}</GoalStateIncarnation>`,
    `<Container><ContainerId>${container}</ContainerId><RoleInstanceList><Role>`,
    `<InstanceId>${instance}</InstanceId><Health>${details}</Health>`,
    '</Role></RoleInstanceList></Container></Health>',
  ].join('');
}

function escapeXml(text: string): string {
  const signs: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.slice(0, 512).replace(/[&<>"]/g, (sign) => signs[sign] ?? '');
}
