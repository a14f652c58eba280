// Adds to a YAML document what a person could have written there. Comments, order, and style of the rest stay.
import { isSeq, parseDocument } from 'yaml';

export interface YamlAddition {
  readonly path: readonly string[];
  /** Appended if the path is a list; else the value of the last key. */
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
    else if (isSeq(list)) list.add(document.createNode(value));
    else document.setIn(path, document.createNode([value]));
  }
  return document.toString({ lineWidth: 0, indentSeq: !/^( *)[^\s#-][^\n]*:\n\1- /m.test(text) });
}
