import { describe, expect, it } from 'vitest';
import { type SimFixture, simFixture } from '../../../test/support/sim/fixture.ts';
import type { MachineReport } from '../../ports/provider/machines.ts';

/** Boots a machine from a disk of a recipe that is marked to break so; returns everything it ever reported. */
async function boot(
  fixture: SimFixture,
  breaks: string | undefined,
  name = 'canary',
  seconds = 900,
): Promise<readonly (MachineReport['phase'] | 'silent')[]> {
  const { sim, clock, options } = fixture;
  const settings = breaks === undefined ? {} : { sim: { breaks } };
  const disk = await fixture.seal({ recipe: { kubernetes: '1.34.2', settings } });
  const spec = {
    name,
    image: 'node',
    version: '1.0.0',
    digest: disk.digest,
    size: 's',
    userData: 'u',
    tags: {},
  };
  await sim.machines.createMachine({ ...spec, firmware: 'uefi' }, options);
  const phases: (MachineReport['phase'] | 'silent')[] = [];
  for (let second = 0; second < seconds; second++) {
    const phase = (await sim.machines.report(name, options))?.phase ?? 'silent';
    if (phase !== phases.at(-1)) phases.push(phase);
    await clock.advance(1000);
  }
  return phases;
}

describe('a machine', () => {
  it('boots, applies and is ready, with facts that a test can compare', async () => {
    const fixture = simFixture();
    expect(await boot(fixture, undefined)).toEqual(['silent', 'booting', 'applying', 'ready']);
    const { sim, options } = fixture;
    const machine = await sim.machines.getMachine('canary', options);
    expect((await sim.machines.report('canary', options))?.facts).toMatchObject({
      machineId: machine?.machineId,
      hostname: 'canary',
      digest: machine?.digest,
      kubernetes: '1.34.2',
    });
    expect((await sim.machines.console('canary', 1, options))[0]).toMatch(
      /^\[ +\d+\.\d{3}\] imago-agent: ready$/,
    );
  });

  it('of an image that does not boot never speaks; the console says why and the provider gives up', async () => {
    const fixture = simFixture();
    expect(await boot(fixture, 'boot')).toEqual(['silent']);
    const { sim, options } = fixture;
    expect(await sim.machines.getMachine('canary', options)).toMatchObject({
      state: 'failed',
      error: { code: 'OSProvisioningTimedOut' },
    });
    expect((await sim.machines.console('canary', 1, options))[0]).toContain('Kernel panic');
  });

  it('of an image whose agent fails reports it', async () => {
    const fixture = simFixture();
    expect(await boot(fixture, 'agent')).toEqual(['silent', 'booting', 'applying', 'failed']);
    const report = await fixture.sim.machines.report('canary', fixture.options);
    expect(report?.facts.error).toContain('containerd');
  });

  it('of a slow image is ready much later', async () => {
    const fixture = simFixture();
    expect(await boot(fixture, 'slow', 'canary', 200)).not.toContain('ready');
    await fixture.clock.advance(1_500_000);
    expect((await fixture.sim.machines.report('canary', fixture.options))?.phase).toBe('ready');
  });

  it('of an image that sometimes fails is ready on some machines and fails on others', async () => {
    const fixture = simFixture();
    const ends = new Set<unknown>();
    for (let index = 0; index < 20; index++) {
      ends.add((await boot(fixture, 'sometimes', `canary-${index}`, 150)).at(-1));
    }
    expect([...ends].sort()).toEqual(['failed', 'ready']);
  });

  it('starts from the gallery where the disk itself is not known', async () => {
    const { sim, options, publish } = simFixture();
    const { image, version } = await publish('1.0.0');
    const spec = { name: 'm', image, version, digest: 'sha256:unknown', size: 's', userData: '', tags: {} };
    await sim.machines.createMachine({ ...spec, firmware: 'uefi' }, options);
    const elsewhere = sim.machines.createMachine(
      { ...spec, name: 'n', firmware: 'uefi', region: 'eastus' },
      options,
    );
    await expect(elsewhere).rejects.toMatchObject({ code: 'provider-not-found' });
  });

  it('that was stopped stays at what it last said', async () => {
    const fixture = simFixture();
    await boot(fixture, undefined);
    const { sim, clock, options } = fixture;
    const lines = await sim.machines.console('canary', 99, options);
    await sim.machines.stopMachine('canary', options);
    await clock.advance(3_600_000);
    expect(await sim.machines.console('canary', 99, options)).toEqual(lines);
  });
});
