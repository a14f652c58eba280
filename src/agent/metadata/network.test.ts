import { describe, expect, it } from 'vitest';
import { memorySystem } from '../../../test/support/agent/memory-system.ts';
import { hasRoute, waitForRoute } from './network.ts';

const head = 'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n';
const everywhere = 'eth0\t00000000\t0202000A\t0003\t0\t0\t0\t00000000\n';
const linkLocal = 'eth1\t00A9FEA9\t00000000\t0001\t0\t0\t0\t00FFFFFF\n';

describe('a way to the metadata service', () => {
  it.each([
    ['a default route', head + everywhere, true],
    ['a route to its network', head + linkLocal, true],
    ['a route to another network', `${head}eth0\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\n`, false],
    ['a route that is down', `${head}eth0\t00000000\t0202000A\t0002\t0\t0\t0\t00000000\n`, false],
    ['no route', head, false],
    ['no table', '', false],
  ])('is judged by %s', (_, table, found) => {
    expect(hasRoute(table)).toBe(found);
  });

  it('is waited for while a card has none, but not indefinitely', async () => {
    const cards = {
      '/sys/class/net/eth0/device': '',
      '/sys/class/net/eth1/device': '',
      '/sys/class/net/lo/mtu': '',
    };
    const system = memorySystem({ ...cards, '/proc/net/route': head + everywhere });
    const begun = system.uptimeMs();
    expect(await waitForRoute(system, 60_000)).toBe(true);
    expect(system.uptimeMs() - begun).toBeGreaterThanOrEqual(5000);
    const ready = memorySystem({ ...cards, '/proc/net/route': head + everywhere + linkLocal });
    await waitForRoute(ready, 60_000);
    expect(ready.uptimeMs()).toBe(begun);
  });

  it('is given up when there is none until the deadline', async () => {
    expect(await waitForRoute(memorySystem({ '/proc/net/route': head }), 1000)).toBe(false);
  });
});
