// Reads a node config from a YAML or JSON file, and reports the line and column of every error.
import { isMap, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { configError, type FieldPath } from '../../domain/node-config/problem.ts';
import { type CheckRules, checkNodeConfig, strictRules } from '../../domain/node-config/read-node-config.ts';
import type { NodeConfig } from '../../domain/node-config/schema.ts';
import { canonicalJson } from '../../domain/value/canonical-json.ts';
import type { Json } from '../../domain/value/json.ts';
import { readText } from './read-text.ts';

export interface ConfigFile {
  readonly config: NodeConfig;
  /** The config as JSON, in the current schema version. */
  readonly document: string;
}

const maxCharacters = 512 * 1024;

/** Throws `file-missing` or, with every problem at its line and column, `node-config-invalid`. */
export async function readNodeConfigFile(file: string, rules: CheckRules = strictRules): Promise<ConfigFile> {
  const text = await readConfigText(file);
  const lines = new LineCounter();
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${Math.max(1, line)}:${Math.max(1, col)}: `;
  };
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  const [broken] = document.errors;
  if (broken !== undefined) {
    const what = broken.code === 'DUPLICATE_KEY' ? 'has a duplicate key' : 'is not valid YAML or JSON';
    throw configError([{ path: [], message: what }], () => place(broken.pos[0]));
  }
  const { problems, read } = checkNodeConfig(document.toJS({ maxAliasCount: 100 }), rules);
  if (read === undefined) throw configError(problems, (path) => place(offsetOf(document.contents, path)));
  return { config: read.config, document: canonicalJson(read.config as Json) };
}

async function readConfigText(file: string): Promise<string> {
  const text = await readText(file);
  if (text.length <= maxCharacters) return text;
  throw new ImagoError('node-config-too-big', `${file} has ${text.length} characters.`);
}

/** Returns the offset of the value at a path, or of its parent if it is missing. A map entry is located at its key. */
function offsetOf(root: unknown, path: FieldPath): number {
  let [node, offset] = [root, startOf(root)];
  for (const step of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => String(key) === String(step));
      if (pair === undefined) return offset;
      [node, offset] = [pair.value, startOf(pair.key)];
    } else if (isSeq(node)) {
      node = node.items[Number(step)];
      offset = startOf(node);
    } else return offset;
  }
  return offset;
}

function startOf(node: unknown): number {
  return (node as Node | null | undefined)?.range?.[0] ?? 0;
}
