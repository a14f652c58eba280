// Tells the platform how the first boot ended. In Azure a machine from a generalized image that says nothing counts
// as failed after some minutes.
import { request } from './http.ts';
import { platformReportPath } from './paths.ts';
import { replaceFile, type System } from './system.ts';

const headers = { 'x-ms-version': '2012-11-30', 'x-ms-agent-name': 'imago-agent' };
const tries = 5;

export type Outcome = { readonly ready: true } | { readonly ready: false; readonly why: string };

/**
 * Once for each machine: a second call with the same id does nothing. False when the platform could not be told; it
 * may be called again then. Where there is no such platform, that is all that happens.
 */
export async function reportToPlatform(
  system: System,
  baseUrl: string,
  machineId: string,
  outcome: Outcome,
): Promise<boolean> {
  if (reportedMachine(system) === machineId) return true;
  for (let attempt = 1; attempt <= tries; attempt += 1) {
    if (await tell(system, baseUrl, outcome)) {
      await replaceFile(system, platformReportPath, `${JSON.stringify({ machineId })}\n`, 0o600);
      return true;
    }
    if (attempt < tries) await system.sleep(attempt * 1000);
  }
  return false;
}

function reportedMachine(system: System): unknown {
  const text = system.readText(platformReportPath);
  return text === undefined ? undefined : (JSON.parse(text) as { machineId?: string }).machineId;
}

async function tell(system: System, baseUrl: string, outcome: Outcome): Promise<boolean> {
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
