import { describe, expect, it } from 'vitest';
import { wireAnswer, wireVersion } from './wire-answer.ts';

const facts = { machineId: 'machine-1', name: 'a&b', now: '2026-01-02T03:04:05.000Z' };
const headers = { 'x-ms-version': wireVersion };

function ask(method: string, url: string, body = '', sent: Record<string, string> = headers) {
  return wireAnswer({ method, url, headers: sent, body }, facts);
}

function report(change: Record<string, string> = {}) {
  const { incarnation, container, state, details } = {
    ...{ incarnation: '1', container: 'machine-1', state: 'Ready', details: '' },
    ...change,
  };
  return `<?xml version="1.0"?><Health xmlns:xsi="x"><GoalStateIncarnation>${incarnation}</GoalStateIncarnation><Container><ContainerId>${container}</ContainerId><RoleInstanceList><Role><InstanceId>i</InstanceId><Health><State>${state}</State>${details}</Health></Role></RoleInstanceList></Container></Health>`;
}

describe('the wire server', () => {
  it('tells its version and the goal state, with names made safe for XML', () => {
    expect(ask('GET', '/?comp=versions', '', {}).answer.body).toContain(`<Version>${wireVersion}</Version>`);
    for (const url of ['/machine/?comp=goalstate', '/machine?comp=goalstate']) {
      const { answer } = ask('GET', url);
      expect(answer.status).toBe(200);
      expect(answer.body).toContain('<ContainerId>machine-1</ContainerId>');
      expect(answer.body).toContain('<InstanceId>a&#38;b</InstanceId>');
    }
  });

  it('takes a report of health', () => {
    expect(ask('POST', '/machine?comp=health', report())).toMatchObject({
      answer: { status: 200, body: '' },
      health: { state: 'Ready', at: facts.now },
    });
    const details =
      '<Details><SubStatus>ProvisioningFailed</SubStatus><Description>a &lt; b</Description></Details>';
    expect(ask('POST', '/machine?comp=health', report({ state: 'NotReady', details })).health).toEqual({
      state: 'NotReady',
      substatus: 'ProvisioningFailed',
      description: 'a < b',
      at: facts.now,
    });
  });

  it.each([
    ['of another machine', report({ container: 'machine-2' })],
    ['of another goal', report({ incarnation: '2' })],
    ['of an unknown state', report({ state: 'Fine' })],
    ['that is none', 'hello'],
  ])('refuses a report %s', (_, body) => {
    const { answer, health } = ask('POST', '/machine?comp=health', body);
    expect({ status: answer.status, health }).toEqual({ status: 400, health: undefined });
  });

  it('refuses other methods, paths and versions', () => {
    expect(ask('POST', '/machine?comp=goalstate').answer.status).toBe(405);
    expect(ask('GET', '/machine?comp=health').answer.status).toBe(405);
    expect(ask('GET', '/machine?comp=config').answer.status).toBe(404);
    expect(ask('GET', '/machine?comp=goalstate', '', {}).answer.status).toBe(400);
  });
});
