import { expect, test } from 'vitest';
import { createVirtualClock } from '../../../test/support/sim/virtual-clock.ts';
import type { KubeClient } from '../client/client.ts';
import { simulateCluster } from '../sim/simulated-cluster.ts';
import { joiningOf } from './joining.ts';

function lab(server = 'https://127.0.0.1:6443', ca: string | undefined = 'CA') {
  const clock = createVirtualClock();
  const api = simulateCluster(clock).apiAs('imago');
  const client = { ...api, server, ca } as KubeClient;
  const secrets = async () => (await api.list('secrets')).items;
  return { joining: joiningOf(client, clock), clock, secrets };
}

test('a node has one bootstrap token, valid for 15 minutes, in the groups that can request certificates', async () => {
  const { joining, clock, secrets } = lab();
  const first = await joining?.makeToken('web-000001');
  const token = (await joining?.makeToken('web-000001')) ?? '';
  expect(token).toMatch(/^[a-z0-9]{6}\.[a-z0-9]{16}$/);
  expect(token).not.toBe(first);
  const [id, secret] = token.split('.');
  const [found, ...others] = await secrets();
  expect(others).toEqual([]);
  expect(found).toMatchObject({
    metadata: { name: `bootstrap-token-${id}`, namespace: 'kube-system' },
    type: 'bootstrap.kubernetes.io/token',
    stringData: { 'token-id': id, 'token-secret': secret, 'usage-bootstrap-authentication': 'true' },
  });
  const groups = found?.stringData?.['auth-extra-groups']?.split(',') ?? [];
  expect(groups).toContain('system:bootstrappers:imago');
  for (const group of groups) expect(group).toMatch(/^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/);
  expect(Date.parse(found?.stringData?.expiration ?? '') - clock.now()).toBeLessThanOrEqual(15 * 60_000);
});

test('a token that is no longer needed is deleted, and no secret of anyone else', async () => {
  const { joining, secrets } = lab();
  await joining?.makeToken('web-000001');
  await joining?.makeToken('web-000002');
  await joining?.dropToken('web-000001');
  await joining?.dropToken('web-000001');
  await joining?.dropToken('web-000003');
  expect((await secrets()).map((one) => one.stringData?.description)).toEqual(['Imago: node web-000002']);
});

test('machines call an API server on the loopback of their host by the address of the host', () => {
  expect(lab().joining?.server).toBe('https://168.63.129.1:6443');
  expect(lab('https://localhost:6443').joining?.server).toBe('https://168.63.129.1:6443');
  expect(lab('https://api.example.com:6443').joining?.server).toBe('https://api.example.com:6443');
});

test('nothing joins a cluster whose certificate is not verified', () => {
  const clock = createVirtualClock();
  const client = { ...simulateCluster(clock).apiAs('imago'), server: 'https://127.0.0.1:1' } as KubeClient;
  expect(joiningOf(client, clock)).toBeUndefined();
});
