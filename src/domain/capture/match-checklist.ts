// Which item of a checklist applies to a path.
import type { ChecklistItem } from './checklist.ts';

export interface MatchedEntry {
  readonly path: string;
  readonly type: string;
}

/** Returns the item that removes an entry. Entries must come parents first, as a walk over a tree yields them. */
export type ChecklistMatcher = (entry: MatchedEntry) => ChecklistItem | undefined;

interface Rule {
  readonly item: ChecklistItem;
  readonly removes: RegExp;
  readonly keeps: RegExp | undefined;
}

/**
 * `found` has further paths for an item, from the function that its `find` names. The directories that a matcher
 * removed are remembered: use one matcher for one walk.
 */
export function matchChecklist(
  items: readonly ChecklistItem[],
  found: ReadonlyMap<string, readonly string[]> = new Map(),
): ChecklistMatcher {
  const rulesByTop = new Map<string, Rule[]>();
  for (const item of items) {
    const exact = (found.get(item.id) ?? []).map(escapeRegExp);
    for (const [top, patterns] of groupByTop([...(item.remove ?? []).map(patternSource), ...exact])) {
      const keeps =
        item.keep === undefined
          ? undefined
          : oneOf(item.keep.map((pattern) => `${patternSource(pattern)}(?:/.*)?`));
      const rules = rulesByTop.get(top) ?? [];
      rulesByTop.set(top, [...rules, { item, removes: oneOf(patterns), keeps }]);
    }
  }
  const removedFolders = new Map<string, ChecklistItem>();

  return ({ path, type }) => {
    const item =
      removedFolders.get(path.slice(0, path.lastIndexOf('/'))) ??
      rulesByTop.get(topOf(path))?.find((rule) => applies(rule, path, type))?.item;
    if (item !== undefined && type === 'directory') removedFolders.set(path, item);
    return item;
  };
}

function applies({ item, removes, keeps }: Rule, path: string, type: string): boolean {
  if (item.keepDirectories === true && type === 'directory') return false;
  return removes.test(path) && keeps?.test(path) !== true;
}

/** The first name, which patterns have literally: most files of a disk are under /usr, which few patterns name. */
function topOf(path: string): string {
  const end = path.indexOf('/', 1);
  return end < 0 ? path : path.slice(0, end);
}

function groupByTop(sources: readonly string[]): ReadonlyMap<string, readonly string[]> {
  return Map.groupBy(sources, (source) => topOf(source).replaceAll('\\', ''));
}

function oneOf(sources: readonly string[]): RegExp {
  return new RegExp(`^(?:${sources.join('|')})$`, 's');
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

function patternSource(pattern: string): string {
  return escapeRegExp(pattern).replaceAll('\\*\\*', '.+').replaceAll('\\*', '[^/]*');
}
