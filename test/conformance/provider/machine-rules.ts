// Single machines: they boot what they were given, speak for themselves, and leave nothing behind.
import { describe, expect, it } from 'vitest';
import type { Machine, MachineSpec } from '../../../src/ports/provider/machines.ts';
import { patience } from '../../support/speed.ts';
import { everything, refusal } from './checks.ts';
import type { Suite } from './suite.ts';

export function machineRules(suite: Suite): void {
  const { options } = suite;

  async function machine(change: Partial<MachineSpec> = {}): Promise<Machine> {
    const spec = await suite.machineSpec(change);
    await suite.role('machines').createMachine(spec, options);
    return ready(spec.name);
  }

  function ready(name: string): Promise<Machine> {
    return suite.until(
      () => suite.role('machines').getMachine(name, options),
      (one) => one.state === 'ready' && one.power === 'running',
    );
  }

  async function drop(name: string): Promise<void> {
    await suite.role('machines').deleteMachine(name, options);
    await suite.gone(() => suite.role('machines').getMachine(name, options));
  }

  describe('machines', () => {
    it('nothing is found, deleting it succeeds, and other calls say that it is not there', async () => {
      const machines = suite.role('machines');
      expect(await machines.getMachine('nothing', options)).toBeUndefined();
      await machines.deleteMachine('nothing', options);
      const calls = [
        () => machines.report('nothing', options),
        () => machines.console('nothing', 10, options),
        () => machines.stopMachine('nothing', options),
        () => machines.startMachine('nothing', options),
        ...(suite.has('runCommand')
          ? [() => machines.runCommand('nothing', { script: 'true', timeoutMs: 1000 }, options)]
          : []),
      ];
      for (const call of calls) await refusal(call(), 'provider-not-found');
    });

    it('one made twice is one; with another spec it is refused', async () => {
      const machines = suite.role('machines');
      const spec = await suite.machineSpec();
      await machines.createMachine(spec, options);
      await machines.createMachine(spec, options);
      const found = await ready(spec.name);
      expect(found).toMatchObject(spec);
      await machines.createMachine(spec, options);
      expect((await machines.getMachine(spec.name, options))?.machineId).toBe(found.machineId);
      const other = machines.createMachine({ ...spec, userData: '{"other":true}' }, options);
      expect((await refusal(other, 'provider-conflict')).retryable).toBe(false);
      const all = await everything((query) => machines.listMachines(query, options), 1);
      expect(all.filter((one) => one.name === spec.name)).toHaveLength(1);
      await drop(spec.name);
    });

    it('is not made from a digest and a version that are not there', async () => {
      const machines = suite.role('machines');
      const digest = `sha256:${'0'.repeat(64)}`;
      const spec = await suite.machineSpec({ version: '9.9.9', digest });
      await refusal(machines.createMachine(spec, options), 'provider-not-found');
      expect(await machines.getMachine(spec.name, options)).toBeUndefined();
    });

    it('tells that it is ready, as the machine it is, and its console shows how', async () => {
      const machines = suite.role('machines');
      const one = await machine();
      const report = await suite.until(
        () => machines.report(one.name, options),
        (said) => said.phase === 'ready',
      );
      expect(report.facts.machineId).toBe(one.machineId);
      const lines = await machines.console(one.name, 100, options);
      expect(lines.length).toBeGreaterThan(0);
      expect(await machines.console(one.name, 1, options)).toEqual(lines.slice(-1));
      await drop(one.name);
    });

    suite.itWith(['runCommand'], 'runs commands, and tells how each ended', async () => {
      const machines = suite.role('machines');
      const one = await machine();
      await suite.until(
        () => machines.report(one.name, options),
        (said) => said.phase === 'ready',
      );
      const run = (script: string) =>
        machines.runCommand(one.name, { script, timeoutMs: patience(60_000) }, options);
      expect(await run('echo hello')).toEqual({
        exitCode: 0,
        stdout: 'hello\n',
        stderr: '',
        truncated: false,
      });
      expect(await run('echo before\nexit 3')).toMatchObject({ exitCode: 3, stdout: 'before\n' });
      expect(await run('false')).toMatchObject({ exitCode: 1 });
      await machines.stopMachine(one.name, options);
      await suite.until(
        () => machines.getMachine(one.name, options),
        (now) => now.power === 'stopped',
      );
      expect((await refusal(run('true'), 'provider-conflict')).retryable).toBe(true);
      await drop(one.name);
    });

    it('two of one version are two machines', async () => {
      const one = await machine();
      const other = await machine();
      expect(one.machineId).not.toBe(other.machineId);
      await drop(one.name);
      await drop(other.name);
    });

    it('stopped and started, it is the same machine and speaks again', async () => {
      const machines = suite.role('machines');
      const one = await machine();
      await machines.stopMachine(one.name, options);
      await machines.stopMachine(one.name, options);
      await suite.until(
        () => machines.getMachine(one.name, options),
        (now) => now.power === 'stopped',
      );
      await machines.startMachine(one.name, options);
      await machines.startMachine(one.name, options);
      expect((await ready(one.name)).machineId).toBe(one.machineId);
      const report = await suite.until(
        () => machines.report(one.name, options),
        (said) => said.phase === 'ready',
      );
      expect(report.facts.machineId).toBe(one.machineId);
      await drop(one.name);
    });

    it('deleted and made anew under the same name, it is another', async () => {
      const machines = suite.role('machines');
      const one = await machine();
      await machines.deleteMachine(one.name, options);
      await machines.deleteMachine(one.name, options);
      await suite.gone(() => machines.getMachine(one.name, options));
      const again = await machine({ name: one.name });
      expect(again.machineId).not.toBe(one.machineId);
      await drop(one.name);
    });
  });
}
