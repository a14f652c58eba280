// The composed recipe as YAML, with the file and line that each value came from.
import { Document, isMap, isScalar, isSeq, type Node } from 'yaml';
import { type Tree, toValue } from '../../document/yaml-tree.ts';

/** `components:` … with `# imago.yaml:12` behind each value. The text can be read as a recipe again. */
export function showRecipe(tree: Tree): string {
  const document = new Document(toValue(tree));
  annotate(document.contents as Node | null, tree);
  return document.toString({ lineWidth: 0, flowCollectionPadding: false });
}

function annotate(node: unknown, tree: Tree): void {
  if (isMap(node) && tree.kind === 'map') {
    for (const pair of node.items) {
      const value = tree.entries.get(String(isScalar(pair.key) ? pair.key.value : pair.key));
      if (value !== undefined) annotate(pair.value, value);
    }
    return;
  }
  if (isSeq(node) && tree.kind === 'list') {
    for (const [index, item] of node.items.entries()) {
      const value = tree.items[index];
      if (value !== undefined) annotate(item, value);
    }
    return;
  }
  if (!isScalar(node) || (typeof node.value === 'string' && node.value.includes('\n'))) return;
  node.comment = ` ${tree.origin.file}:${tree.origin.line}`;
}
