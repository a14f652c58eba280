// Adds to a YAML document what a person could have written there. Comments, order, and style of the rest stay.
import { isMap, isSeq, parseDocument, type YAMLSeq } from 'yaml';

export interface YamlAddition {
  readonly path: readonly string[];
  /** For `append`, an item of a list: it replaces one with the same `path`, and is laid over one with the same `name`. */
  readonly value: unknown;
  readonly append: boolean;
}

/** The text must be one that `parseYamlTree` accepts. */
export function addToYaml(text: string, additions: readonly YamlAddition[]): string {
  if (additions.length === 0) return text;
  const document = parseDocument(text);
  for (const { path, value, append } of additions) {
    const list = document.getIn(path, true);
    if (!append) document.setIn(path, value);
    else if (isSeq(list)) addItem(list, value, document.createNode(value));
    else document.setIn(path, document.createNode([value]));
  }
  return document.toString({ lineWidth: 0, indentSeq: !/^( *)[^\s#-][^\n]*:\n\1- /m.test(text) });
}

function addItem(list: YAMLSeq, value: unknown, node: unknown): void {
  const { path, name } = Object(value) as Item;
  const at = list.items.findIndex((item) => {
    const known = isMap(item) ? (item.toJSON() as Item) : undefined;
    return (
      known !== undefined &&
      (path === undefined ? name !== undefined && known.name === name : known.path === path)
    );
  });
  const found = list.items[at];
  if (found === undefined) list.add(node);
  else if (path === undefined && isMap(found))
    for (const [key, part] of Object.entries(Object(value))) found.set(key, part);
  else list.items[at] = node;
}

interface Item {
  readonly path?: string;
  readonly name?: string;
}
