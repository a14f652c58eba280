// The three ways by which programs of Kubernetes come to a machine, and what is left when one of them fails. Go is a
// stand-in that notes what it is asked for: the real one takes minutes.
import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type GetKubernetesOptions, getKubernetes } from '../../scripts/get-kubernetes.ts';
import { runTool } from '../../src/host/process/run-tool.ts';
import { type FileServer, startFileServer } from '../support/file-server.ts';
import { collect } from '../support/imago.ts';

const script = resolve(import.meta.dirname, '../../scripts/get-kubernetes.ts');
const machine = { x64: 'amd64', arm64: 'arm64' }[process.arch as string] ?? process.arch;
let folder: string;
let server: FileServer;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-kubernetes-'));
  server = await startFileServer();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await server.close();
  await rm(folder, { recursive: true });
});

function get(options: Partial<GetKubernetesOptions> = {}) {
  return getKubernetes({
    ...{ version: '1.34.2', programs: ['kubelet'], cacheFolder: join(folder, 'cache') },
    ...options,
  });
}

async function give(path: string, content: string): Promise<string> {
  const from = join(folder, 'given');
  await mkdir(join(from, path, '..'), { recursive: true });
  await writeFile(join(from, path), content);
  return from;
}

/** A `go` that comes before any other, made of shell lines. */
async function standInGo(lines: string): Promise<void> {
  const bin = join(folder, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'go'), `#!/bin/sh\n${lines}`);
  await chmod(join(bin, 'go'), 0o755);
  vi.stubEnv('PATH', `${bin}:${process.env.PATH}`);
}

async function leftOver(): Promise<readonly string[]> {
  return (await readdir(join(folder, 'cache', 'kubernetes'))).filter((name) => !/^\d/.test(name));
}

test.each(['1.34.2/kubelet', `v1.34.2/bin/linux/${machine}/kubelet`, 'kubelet-1.34.2'])(
  'a folder that is given is looked through for %s',
  async (path) => {
    const from = await give(path, 'a kubelet');
    const [found] = await get({ from, url: server.address });
    expect(await readFile(found?.path ?? '', 'utf8')).toBe('a kubelet');
    expect(found?.path).toBe(join(folder, 'cache', 'kubernetes', '1.34.2', machine, 'kubelet'));
    expect(server.asked).toEqual([]);
    expect(await get()).toEqual([found]);
  },
);

test('what the folder lacks is fetched from the address, once', async () => {
  const from = await give('1.34.2/kubectl', 'a kubectl');
  server.files.set(`/v1.34.2/bin/linux/${machine}/kubelet`, 'a kubelet');
  const options = { from, url: `${server.address}/`, programs: ['kubelet', 'kubectl'] } as const;
  const found = await get(options);
  expect(found.map(({ program }) => program)).toEqual(['kubelet', 'kubectl']);
  expect(await get(options)).toEqual(found);
  expect(server.asked).toHaveLength(1);
});

test('one that was damaged since is brought anew', async () => {
  const from = await give('kubelet-1.34.2', 'a kubelet');
  const [found] = await get({ from });
  await writeFile(found?.path ?? '', 'something else');
  const [again] = await get({ from });
  expect(again).toEqual(found);
  expect(await readFile(again?.path ?? '', 'utf8')).toBe('a kubelet');
});

test('two who ask at once share what there is', async () => {
  server.files.set(`/v1.34.2/bin/linux/${machine}/kubelet`, 'a kubelet');
  const [one, two] = await Promise.all([get({ url: server.address }), get({ url: server.address })]);
  expect(one).toEqual(two);
  expect(server.asked).toHaveLength(1);
});

test('what a killed run left is removed by the next build', async () => {
  const left = join(folder, 'cache', 'kubernetes', 'imago-work-999999999-abc', 'go', 'mod');
  await mkdir(left, { recursive: true });
  await standInGo('exit 3');
  await expect(get()).rejects.toMatchObject({ code: 'input-missing' });
  expect(await leftOver()).toEqual([]);
});

test('without folder and address they are built through the module proxy, with the released parts', async () => {
  const asked = join(folder, 'asked');
  const module = join(folder, 'go.mod');
  await writeFile(
    module,
    'module k8s.io/kubernetes\ngo 1.24.0\nreplace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n)\n',
  );
  await standInGo(`
echo "$*" >> '${asked}'
case "$1 $2" in
  'env -json') echo '{"GOPROXY":"https://proxy.example.test"}' ;;
  'mod download') echo '{"GoMod":"${module}"}' ;;
  build*) for word; do case $word in */bin/) to=$word ;; */cmd/*) mkdir -p "$to"; echo "$GOPROXY" > "$to\${word##*/}" ;; esac; done ;;
esac
`);
  const [found] = await get();
  expect(await readFile(found?.path ?? '', 'utf8')).toBe('https://proxy.example.test\n');
  const lines = (await readFile(asked, 'utf8')).split('\n');
  expect(lines).toContain('mod download -json k8s.io/kubernetes@v1.34.2');
  expect(lines).toContain(
    'mod edit -require=k8s.io/kubernetes@v1.34.2 -go=1.24.0 -replace=k8s.io/api=k8s.io/api@v0.34.2',
  );
  expect(lines.find((line) => line.startsWith('build '))).toMatch(/gitVersion=v1\.34\.2 .*cmd\/kubelet$/);
  expect(await leftOver()).toEqual([]);
});

test('builds etcd from its own module', async () => {
  const asked = join(folder, 'asked');
  await standInGo(`
echo "$*" >> '${asked}'
case "$1" in
  env) echo '{}' ;;
  build) for word; do case $word in */bin/etcd) mkdir -p "\${word%/*}"; echo built > "$word" ;; esac; done ;;
esac
`);
  const [found] = await get({ version: '3.7.3', programs: ['etcd'] });
  expect(await readFile(found?.path ?? '', 'utf8')).toBe('built\n');
  const lines = (await readFile(asked, 'utf8')).split('\n');
  expect(lines).toContain('mod edit -require=go.etcd.io/etcd/server/v3@v3.7.3');
  expect(lines.find((line) => line.startsWith('build '))).toMatch(
    /-trimpath .* go\.etcd\.io\/etcd\/server\/v3$/,
  );
  expect(await leftOver()).toEqual([]);
});

test('unpacks etcd from the archive of its release', async () => {
  const name = `etcd-v3.7.3-linux-${machine}`;
  await mkdir(join(folder, name));
  await writeFile(join(folder, name, 'etcd'), 'an etcd');
  await runTool('tar', ['-czf', join(folder, 'etcd.tar.gz'), '-C', folder, name]);
  server.files.set(`/v3.7.3/${name}.tar.gz`, await readFile(join(folder, 'etcd.tar.gz')));
  const [found] = await get({ version: '3.7.3', programs: ['etcd'], url: server.address });
  expect(await readFile(found?.path ?? '', 'utf8')).toBe('an etcd');
  expect(await leftOver()).toEqual([]);
});

test.each([
  ['Go cannot even say its settings', 'echo broken >&2; exit 3'],
  ['the proxy has no such version', '[ "$1" = env ] && echo "{}" && exit; echo no such version >&2; exit 1'],
])('when %s, what else can be done is said, and nothing is left', async (_, lines) => {
  await standInGo(lines);
  await expect(get()).rejects.toMatchObject({
    code: 'input-missing',
    message: expect.stringMatching(/kubelet 1\.34\.2 cannot be had: .*(?:broken|no such version)/),
    hint: expect.stringContaining('--from'),
  });
  expect(await leftOver()).toEqual([]);
});

test('an address that lacks it is an error with the name of the program', async () => {
  await expect(get({ url: server.address })).rejects.toThrow(/kubelet 1\.34\.2/);
});

test('as a command it prints one line a program, makes the link, and refuses what it does not know', async () => {
  const from = await give('1.34.2/kubelet', 'a kubelet');
  const link = join(folder, 'link');
  const run = (...words: readonly string[]) =>
    collect(
      spawn(process.execPath, [script, ...words], {
        env: { ...process.env, IMAGO_CACHE: join(folder, 'cache') },
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    );
  const done = await run('1.34.2', '--program', 'kubelet', '--from', from, '--link', link);
  expect(done).toMatchObject({ code: 0 });
  expect(JSON.parse(done.out)).toMatchObject({ program: 'kubelet', version: '1.34.2' });
  expect(await readFile(join(link, '1.34.2', machine, 'kubelet'), 'utf8')).toBe('a kubelet');
  expect(await readlink(link)).toBe(join(folder, 'cache', 'kubernetes'));
  expect(await run('1.34.2', '--program', 'kubelt')).toMatchObject({
    code: 2,
    err: expect.stringContaining('there is no program kubelt'),
  });
});
