// The longer scripts of checks, run by a real shell against a small made-up system: what each of them finds.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agentChecks } from './agent-checks.ts';
import { containerChecks } from './container-checks.ts';
import type { DiskFacts, MachineCheck, MachineFacts } from './image-check.ts';

const disk: DiskFacts = {
  ...{ release: {}, kernel: { version: '', installed: [] }, sizes: { diskBytes: 0, fileBytes: 0 } },
  ...{ packages: [], files: [] },
  units: ['imago-agent.service', 'containerd.service'].map((name) => ({ name, state: 'enabled' })),
  settings: { sysctl: {}, modules: [], kernelArguments: [], users: [] },
  containerImages: [{ name: 'example.com/pause:3', digest: 'x' }],
};
const facts: MachineFacts = { name: 'a', disk, budgets: {}, now: 0, secrets: ['throwaway'] };

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'imago-cs-'));
  for (const folder of ['etc', 'usr', 'run/imago', 'run/systemd/units', 'var/lib/kubelet', 'bin'])
    mkdirSync(join(root, folder), { recursive: true });
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

function program(name: string, script: string): void {
  put(`bin/${name}`, `#!/bin/sh\nroot=${root}\n${script}\n`);
  chmodSync(join(root, 'bin', name), 0o755);
}

function run(service: string, id: string): void {
  const link = join(root, `run/systemd/units/invocation:${service}`);
  rmSync(link, { force: true });
  symlinkSync(id, link);
}

/** The verdict on what the script says, with every absolute path below the made-up system. */
function verdict(checks: readonly MachineCheck[], id: string) {
  const check = checks.find((one) => one.id === id);
  const script = check?.script(facts)?.replaceAll(/(?<=[\s"'<>]|^)\/(?=(?:etc|usr|run|var)\b)/gm, `${root}/`);
  const { status, stdout, stderr } = spawnSync('sh', ['-c', script ?? ''], {
    encoding: 'utf8',
    env: { ...process.env, PATH: `${root}/bin:${process.env.PATH}` },
  });
  return check?.judge({ exitCode: status ?? 1, output: `${stdout}${stderr}`.trim() }, facts);
}

describe('a second apply', () => {
  const again = 'echo {} >"$root/run/imago/applied.json"; echo ready';
  const second = () => verdict(agentChecks, 'agent-second-apply');
  beforeEach(() => {
    put('etc/hosts', '');
    put('run/imago/applied.json', '{}');
    run('containerd.service', 'one');
    run('timer.service', 'two');
  });

  it('that changes nothing passes, whatever else comes and goes', () => {
    program('imago-agent', `rm "$root/run/systemd/units/invocation:timer.service"; ${again}`);
    put('var/lib/kubelet/cpu_manager_state', '');
    expect(second()).toEqual({ passed: true, detail: 'nothing changed' });
  });

  it('is a whole one: the agent cannot answer from what it noted down', () => {
    program('imago-agent', `[ ! -e "$root/run/imago/applied.json" ] || { echo quick; exit 9; }; ${again}`);
    expect(second()).toMatchObject({ passed: true });
    program('imago-agent', 'true');
    expect(second()).toMatchObject({ passed: false, detail: expect.stringContaining('nothing was applied') });
  });

  it.each([
    ['etc/hosts', 'writes a file'],
    ['var/lib/kubelet/config.yaml', 'writes a file of the kubelet'],
    ['var/lib/imago/components/tool', 'writes a component'],
  ])('that writes %s fails', (path) => {
    put(path, '');
    program('imago-agent', `echo x >"$root/${path}"; ${again}`);
    expect(second()).toEqual({ passed: false, detail: join(root, path) });
  });

  it('that restarts or stops a service fails, though no file is newer', () => {
    const link = '"$root/run/systemd/units/invocation:containerd.service"';
    program('imago-agent', `ln -sfn other ${link}; ${again}`);
    expect(second()).toEqual({ passed: false, detail: 'containerd.service was restarted' });
    program('imago-agent', `rm ${link}; ${again}`);
    expect(second()).toEqual({ passed: false, detail: 'containerd.service was stopped' });
  });

  it('that fails says why', () => {
    program('imago-agent', 'echo "failed: no space"; exit 1');
    expect(second()).toEqual({ passed: false, detail: 'failed: no space' });
  });
});

describe('a secret of the node config', () => {
  const secrets = () => verdict(agentChecks, 'agent-secrets');
  beforeEach(() => {
    put('run/imago/status.json', '{"phase":"ready"}');
    program('journalctl', 'echo a line of the journal');
  });

  it('is nowhere on a good machine', () => {
    expect(secrets()).toEqual({ passed: true, detail: 'none of 1' });
  });

  it.each([
    ['the secret itself', '{"error":"throwaway"}'],
    ['what looks like a token', '{"error":"abcdef.0123456789abcdef"}'],
  ])('is found in the status: %s', (_, text) => {
    put('run/imago/status.json', text);
    expect(secrets()).toMatchObject({ passed: false, detail: expect.stringContaining('status.json') });
  });

  it('is found in the journal', () => {
    program('journalctl', 'echo the token is throwaway');
    expect(secrets()).toEqual({ passed: false, detail: 'the journal' });
  });

  it('is not taken for absent where nobody could look', () => {
    program('journalctl', 'exit 1');
    expect(secrets()).toMatchObject({ passed: false });
    rmSync(join(root, 'run/imago/status.json'));
    expect(secrets()).toMatchObject({ passed: false });
  });
});

describe('a container', () => {
  const runs = () => verdict(containerChecks, 'runtime-runs');
  /** `run` does as it is told; a task is up until it is killed. */
  const ctr = (run: string) =>
    program(
      'ctr',
      [
        'case "$3 $4" in',
        `"run --rm") echo "$6" >"$root/id"; ${run} ;;`,
        '"tasks list") [ ! -s "$root/up" ] || echo "$(cat "$root/id") 7 RUNNING" ;;',
        '"tasks kill") echo >"$root/killed" ;;',
        'esac',
      ].join('\n'),
    );
  const wait = 'while [ ! -e "$root/killed" ]; do /bin/sleep 0.01; done';
  beforeEach(() => program('sleep', 'exec /bin/sleep 0.01'));

  it('that stays runs, and is ended', () => {
    ctr(`echo up >"$root/up"; ${wait}; exit 137`);
    expect(runs()).toEqual({ passed: true, detail: 'runs' });
    expect(readFileSync(join(root, 'killed'), 'utf8')).toBe('\n');
  });

  it('that ends with 0 has run', () => {
    ctr('exit 0');
    expect(runs()).toEqual({ passed: true, detail: 'ended with 0' });
  });

  it.each([1, 127, 139])('that ends with %i fails', (code) => {
    ctr(`echo it broke; exit ${code}`);
    expect(runs()).toEqual({ passed: false, detail: `ended with ${code}: it broke` });
  });

  it('that never comes up fails', () => {
    ctr(`${wait}; exit 137`);
    expect(runs()).toEqual({ passed: false, detail: 'not up after 60 s' });
  });
});

describe('the container runtime', () => {
  it.each(['runtime-images', 'runtime-content'])('that does not answer fails %s', (id) => {
    program('ctr', 'echo cannot connect; exit 1');
    expect(verdict(containerChecks, id)).toEqual({ passed: false, detail: 'cannot connect' });
  });

  it('says of each image whether it is whole and unpacked', () => {
    const head = 'REF TYPE DIGEST STATUS SIZE UNPACKED';
    const line = 'example.com/pause:3 application/x sha256:1';
    program('ctr', `echo '${head}'; echo '${line} complete (2/2) 1.0 MiB/1.0 MiB true'`);
    expect(verdict(containerChecks, 'runtime-content')).toMatchObject({ passed: true });
    program('ctr', `echo '${head}'; echo '${line} incomplete (1/2) 1.0 MiB/1.0 MiB true'`);
    expect(verdict(containerChecks, 'runtime-content')).toMatchObject({ passed: false });
  });
});
