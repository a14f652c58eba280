// The two calls of Azure's wire server that a machine makes to say that it is provisioned: the goal state,
// and the report of its health.
import { type Answer, type MetadataRequest, readTarget, xmlAnswer } from './answer.ts';
import type { PlatformHealth } from './machine-metadata.ts';

export const wireVersion = '2012-11-30';

/** One machine has one goal state for its whole life, so the number never changes. */
const incarnation = '1';

export interface WireFacts {
  readonly machineId: string;
  readonly name: string;
  readonly now: string;
}

export interface WireAnswer {
  readonly answer: Answer;
  /** What the machine reported, when this was a report that was taken. */
  readonly health?: PlatformHealth;
}

export function wireAnswer(request: MetadataRequest, facts: WireFacts): WireAnswer {
  const target = readTarget(request.url);
  const comp = target?.query.get('comp')?.toLowerCase();
  const place = target?.path.join('/').toLowerCase();
  if (place === '' && comp === 'versions') return only(request, 'GET', versionsDocument());
  if (place !== 'machine' || (comp !== 'goalstate' && comp !== 'health')) return refuse(404, 'NotFound');
  if (request.headers['x-ms-version'] !== wireVersion)
    return refuse(400, `x-ms-version must be ${wireVersion}`);
  if (comp === 'goalstate') return only(request, 'GET', goalState(facts));
  return request.method === 'POST' ? takeHealth(request.body, facts) : refuse(405, 'MethodNotAllowed');
}

function only(request: MetadataRequest, method: string, body: string): WireAnswer {
  return request.method === method ? { answer: xmlAnswer(200, body) } : refuse(405, 'MethodNotAllowed');
}

function takeHealth(body: string, { machineId, now }: WireFacts): WireAnswer {
  const state = element(body, 'State');
  if (state !== 'Ready' && state !== 'NotReady') return refuse(400, 'Health/State must be Ready or NotReady');
  if (element(body, 'GoalStateIncarnation') !== incarnation) return refuse(400, 'wrong GoalStateIncarnation');
  if (element(body, 'ContainerId') !== machineId) return refuse(400, 'wrong ContainerId');
  const substatus = element(body, 'SubStatus');
  const description = element(body, 'Description');
  return {
    answer: xmlAnswer(200, ''),
    health: {
      state,
      ...(substatus === undefined ? {} : { substatus }),
      ...(description === undefined ? {} : { description }),
      at: now,
    },
  };
}

function versionsDocument(): string {
  const version = `<Version>${wireVersion}</Version>`;
  return `<Versions><Preferred>${version}</Preferred><Supported>${version}</Supported></Versions>`;
}

function goalState({ machineId, name }: WireFacts): string {
  return `<GoalState>
  <Version>${wireVersion}</Version>
  <Incarnation>${incarnation}</Incarnation>
  <Machine>
    <ExpectedState>Started</ExpectedState>
    <StopRolesDeadlineHint>300000</StopRolesDeadlineHint>
    <ExpectHealthReport>TRUE</ExpectHealthReport>
  </Machine>
  <Container>
    <ContainerId>${encodeText(machineId)}</ContainerId>
    <RoleInstanceList>
      <RoleInstance>
        <InstanceId>${encodeText(name)}</InstanceId>
        <State>Started</State>
      </RoleInstance>
    </RoleInstanceList>
  </Container>
</GoalState>`;
}

function refuse(status: number, why: string): WireAnswer {
  return { answer: xmlAnswer(status, `<Error><Message>${encodeText(why)}</Message></Error>`) };
}

/** The text of the first element of that name; these documents have each name once, and no nesting of its own. */
function element(xml: string, name: string): string | undefined {
  const text = new RegExp(`<${name}(?:\\s[^<>]*)?>([^<]*)</${name}>`).exec(xml)?.[1];
  return text === undefined ? undefined : decodeEntities(text.trim());
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

function decodeEntities(text: string): string {
  return text.replace(/&(lt|gt|quot|apos|amp);/g, (whole, name: string) => entities[name] ?? whole);
}

function encodeText(text: string): string {
  return text.replace(/[<>&"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
