// Reports the outcome of the first boot to the platform. In Azure a machine from a generalized image that does not report
// is failed after 20 minutes.
import { nodeError } from '../report/reporter.ts';
import { platformReportPath } from '../system/paths.ts';
import { type Cancel, readRecord, replaceFile, type System } from '../system/system.ts';
import { request } from './http.ts';

const headers = { 'x-ms-version': '2012-11-30', 'x-ms-agent-name': 'imago-agent' };
/** The minimum interval between requests to a platform that may not exist. */
const pauseMs = 60_000;
/** Half of the time that Azure waits. */
const patienceMs = 600_000;

export type Outcome = { readonly ready: true } | { readonly ready: false; readonly why: string };

export interface Platform {
  /**
   * Reports once for each machine: a second call does nothing, even after a restart. If the platform is unreachable, calls
   * within the next minute do nothing, and a later one retries. Never throws.
   */
  tell(outcome: Outcome): Promise<void>;
  /**
   * Call it when the machine starts to apply a usable config. If that takes longer than the platform waits for an outcome,
   * the machine is reported as ready: as a machine it is, and the node's own report shows the rest. Cancel it when the
   * outcome is known.
   */
  expect(): Cancel;
}

export function createPlatform(system: System, baseUrl: string, machineId: string): Platform {
  let triedMs: number | undefined;
  let reporting: Promise<void> | undefined;

  function isReported(): boolean {
    return readRecord<{ machineId: string }>(system, platformReportPath)?.machineId === machineId;
  }

  async function tryOnce(outcome: Outcome): Promise<void> {
    triedMs = system.uptimeMs();
    try {
      if (!(await report(system, baseUrl, outcome))) return;
      await replaceFile(system, platformReportPath, `${JSON.stringify({ machineId })}\n`, 0o600);
    } catch (thrown) {
      system.log(`the platform's response could not be recorded: ${nodeError(thrown).message}`);
    }
  }

  async function tell(outcome: Outcome): Promise<void> {
    await reporting;
    if (isReported() || (triedMs !== undefined && system.uptimeMs() - triedMs < pauseMs)) return;
    reporting = tryOnce(outcome);
    await reporting;
  }

  return {
    tell,
    expect() {
      if (isReported()) return () => undefined;
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

/** Returns `false` if no platform responds. */
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

/** Returns values of the goal state exactly as they were received. */
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
