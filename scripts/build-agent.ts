// Makes the agent as it goes on images: a folder of files from the root of the node on, the same wherever it is made.
//   node scripts/build-agent.ts [FOLDER]
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { agentFiles } from '../src/agent/agent-files.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Answers with the bytes that the agent takes on an image. */
export async function buildAgent(folder: string): Promise<number> {
  const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
    version: string;
  };
  const result = await build({
    absWorkingDir: root,
    entryPoints: { agent: 'src/agent/main.ts' },
    outdir: path.join(folder, 'usr/lib/imago'),
    bundle: true,
    // What is not needed for an apply with nothing to do is a file of its own, and not read for one.
    splitting: true,
    chunkNames: 'agent-[name]-[hash]',
    format: 'esm',
    platform: 'neutral',
    target: 'es2023',
    minify: true,
    legalComments: 'none',
    define: { agentVersion: JSON.stringify(version) },
    write: false,
    logLevel: 'warning',
  });
  rmSync(folder, { recursive: true, force: true });
  let bytes = 0;
  function put(file: string, content: string | Uint8Array, mode: number): void {
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content);
    chmodSync(file, mode);
    bytes += content.length;
  }
  for (const { path: file, contents } of result.outputFiles) put(file, contents, 0o644);
  for (const { path: file, text, mode } of agentFiles()) put(path.join(folder, file), text, mode);
  return bytes;
}

if (import.meta.main) {
  const folder = path.resolve(process.argv[2] ?? path.join(root, 'dist/agent'));
  const bytes = await buildAgent(folder);
  console.log(`${path.relative(process.cwd(), folder) || '.'}: ${Math.round(bytes / 1024)} KiB`);
}
