import { expect, test } from 'vitest';
import type { Sandbox, SandboxRun } from '../../build/sandbox/sandbox.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type BuildProbe, buildChecks } from './build.ts';
import type { CheckResult } from './check.ts';

const keyring = '/usr/share/keyrings/debian-archive-keyring.gpg';

/** A sandbox in which these scripts fail. */
function sandbox(
  fails?: (job: SandboxRun) => ImagoError | undefined,
  limitedBy: Sandbox['limitedBy'] = 'rlimits',
): Sandbox {
  return {
    asRoot: false,
    limitedBy,
    async run(job: SandboxRun) {
      const error = fails?.(job);
      if (error !== undefined) throw error;
    },
    remove: async () => undefined,
  } as unknown as Sandbox;
}

/** A machine that has everything, but for what is said. */
function machine(change: Partial<BuildProbe> = {}): BuildProbe {
  return {
    findProgram: (name) => `/usr/bin/${name}`,
    outputOf: async () => 'tar (GNU tar) 1.35',
    read: (path) => (path === keyring ? 'keys' : undefined),
    sandbox: () => sandbox(),
    ...change,
  };
}

async function found(id: string, look: BuildProbe, uid = 1000): Promise<CheckResult> {
  const env = { IMAGO_CACHE: '/nowhere/cache' };
  const check = buildChecks({ env, uid }, look).find((one) => one.id === id);
  if (check === undefined) throw new Error(`there is no check ${id}`);
  return check.run(new AbortController().signal);
}

test.each(['build.programs', 'build.keyring', 'build.sandbox', 'build.xz'])(
  '%s is content with a machine that has all',
  async (id) => {
    expect(await found(id, machine())).toMatchObject({ state: 'ok' });
  },
);

test.each([
  ['cgroup', 'A control group limits the memory and the processes of each run.'],
  ['rlimits', 'rlimits limit the memory of each process, and the processes.'],
] as const)('reports that the sandbox is limited by %s', async (limitedBy, text) => {
  const { detail } = await found('build.sandbox', machine({ sandbox: () => sandbox(undefined, limitedBy) }));
  expect(detail).toContain(text);
});

test('programs that are not there are named, with the packages that have them', async () => {
  const lacking = ['apt-get', 'dpkg-deb', 'setpriv'];
  const look = machine({ findProgram: (name) => (lacking.includes(name) ? undefined : name) });
  const { state, detail, fix } = await found('build.programs', look);
  expect(state).toBe('missing');
  expect(detail).toContain('apt-get, dpkg-deb, setpriv');
  expect(fix).toMatch(/apt dpkg util-linux/);
});

test.each(['tar (busybox) 1.36', undefined])('reports a tar that is not GNU tar (%s)', async (says) => {
  expect(await found('build.programs', machine({ outputOf: async () => says }))).toMatchObject({
    state: 'missing',
    detail: expect.stringContaining('not GNU tar'),
  });
});

test('without the keys of Debian nothing can be locked', async () => {
  expect(await found('build.keyring', machine({ read: () => undefined }))).toMatchObject({
    state: 'missing',
    fix: expect.stringContaining('debian-archive-keyring'),
  });
});

test('reports the error of a build to a user who cannot create a sandbox', async () => {
  const hint = 'sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 ann';
  const few = () => {
    throw new ImagoError('sandbox-missing', 'ann has fewer than 65535 ids in /etc/subuid.', { hint });
  };
  expect(await found('build.sandbox', machine({ sandbox: few }))).toEqual({
    state: 'missing',
    detail: 'ann has fewer than 65535 ids in /etc/subuid.',
    fix: hint,
  });
});

test.each([
  ['kernel/unprivileged_userns_clone', '0\n', 'kernel.unprivileged_userns_clone=1'],
  ['kernel/apparmor_restrict_unprivileged_userns', '1\n', 'kernel.apparmor_restrict_unprivileged_userns=0'],
  ['user/max_user_namespaces', '0\n', 'user.max_user_namespaces=15000'],
])('reports a sandbox that %s forbids, with the setting that allows it', async (file, text, setting) => {
  const forbidden = sandbox(() => new ImagoError('build-failed', 'mount: permission denied'));
  const look = machine({
    sandbox: () => forbidden,
    read: (path) => (path === `/proc/sys/${file}` ? text : undefined),
  });
  expect(await found('build.sandbox', look)).toEqual({
    state: 'missing',
    detail: 'mount: permission denied',
    fix: `sudo sysctl -w ${setting}`,
  });
  expect((await found('build.sandbox', look, 0)).fix).toContain('--privileged');
});

test('without overlays builds work, only slower', async () => {
  const plain = sandbox(({ script }) =>
    script.includes('overlay') ? new ImagoError('build-failed', 'no overlay') : undefined,
  );
  expect(await found('build.sandbox', machine({ sandbox: () => plain }))).toMatchObject({
    state: 'warn',
    detail: expect.stringContaining('slower'),
  });
});

test('what builds do not use is not asked for', () => {
  const ids = buildChecks({ env: {}, uid: 0 }, machine()).map(({ id }) => id);
  expect(ids).toEqual(['build.programs', 'build.keyring', 'build.sandbox', 'build.xz', 'build.cache']);
});
