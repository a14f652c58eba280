// What can be wrong with one component, beyond its place.

import type { OperatingSystem } from '../image/version.ts';
import { quote } from '../value/quote.ts';
import { destinationProblem } from './destination.ts';
import { modeProblem, type RecipeProblem, textProblem } from './problem.ts';
import { type RecipeComponent, sourceKind, sourceOf, versionsOf } from './recipe.ts';
import { unitNameProblem } from './settings-problems.ts';

type Say = (key: keyof RecipeComponent, message: string, hint?: string) => void;

export function componentProblems(
  os: OperatingSystem,
  component: RecipeComponent,
  index: number,
): readonly RecipeProblem[] {
  const problems: RecipeProblem[] = [];
  const say: Say = (key, message, hint) =>
    problems.push({
      path: ['components', index, key],
      message: `${component.name || 'a component'}: ${message}`,
      ...(hint === undefined ? {} : { hint }),
    });
  if (!/^[A-Za-z0-9][A-Za-z0-9._+-]*$/.test(component.name)) {
    say('name', `the name ${quote(component.name)} is not made of letters, digits and . _ + -`);
  }
  versionRules(component, say);
  sourceRules(os, component, say);
  fileRules(os, component, say);
  pickRules(os, component, say);
  updateRules(component, say);
  return problems;
}

function versionRules(component: RecipeComponent, say: Say): void {
  const { version, versions } = component;
  if (version !== undefined && versions !== undefined) say('versions', 'has `version` and `versions`');
  if (version === undefined && versions === undefined && sourceKind(sourceOf(component)) !== 'package') {
    say('version', 'needs a version');
  }
  if (versions === undefined) return;
  if (versions.length === 0) say('versions', 'has no version');
  if (new Set(versions).size < versions.length) say('versions', 'has a version twice');
  if (component.pick === undefined) {
    say('pick', 'versions side by side need a `pick`: the link to the one in use, and the default');
  }
  if (component.to !== undefined && !component.to.includes(`\${version}`)) {
    say('to', 'versions side by side need a place each', `Write \`to: ${component.to}/\${version}\`.`);
  }
}

function sourceRules(os: OperatingSystem, component: RecipeComponent, say: Say): void {
  const source = sourceOf(component);
  const kind = sourceKind(source);
  if ('package' in source) {
    if (os === 'windows') say('from', 'Debian packages do not go on a Windows image');
    if (component.versions !== undefined)
      say('versions', 'only one version of a Debian package can be installed');
    for (const key of ['to', 'mode'] as const) {
      if (component[key] !== undefined) say(key, 'a Debian package decides itself where it goes');
    }
    return;
  }
  if (component.to === undefined) say('to', `what comes from \`${kind}\` needs a place: \`to\``);
  else {
    const problem = destinationProblem(os, component.to);
    if (problem !== undefined) say('to', problem);
  }
  if (component.mode !== undefined && (kind === 'folder' || kind === 'tar')) {
    say('mode', 'only single files have a mode here; those of a folder or an archive bring theirs');
  }
  const problem = modeProblem(component.mode);
  if (problem !== undefined) say('mode', problem);
  if ('sha256' in source && source.sha256 !== undefined) hashRules(component, source.sha256, say);
}

function hashRules(
  component: RecipeComponent,
  expected: string | Readonly<Record<string, string>>,
  say: Say,
): void {
  const versions = versionsOf(component);
  const hashes = typeof expected === 'string' ? { '': expected } : expected;
  if (typeof expected === 'string' && versions.length > 1) {
    say('from', 'several versions need a sha256 each', 'Write `sha256:` as a map from version to sha256.');
  }
  for (const [version, hash] of Object.entries(hashes)) {
    if (!/^[0-9a-f]{64}$/.test(hash)) {
      say('from', `the sha256${version && ` of ${version}`} is not 64 lower-case hexadecimal digits`);
    }
  }
  if (typeof expected === 'string') return;
  const missing = versions.find((version) => !Object.hasOwn(expected, version));
  if (missing !== undefined) say('from', `there is no sha256 for version ${missing}`);
}

function fileRules(os: OperatingSystem, component: RecipeComponent, say: Say): void {
  const { unit, config = [] } = component;
  if (unit !== undefined) {
    if (os === 'windows') say('unit', 'units are for Linux');
    const problem = textProblem(unit) ?? (unit.name === undefined ? undefined : unitNameProblem(unit.name));
    if (problem !== undefined) say('unit', `its unit ${problem}`);
  }
  for (const file of config) {
    const problem =
      destinationProblem(os, file.path) ??
      textProblem(file) ??
      modeProblem(file.mode) ??
      ownerProblem(file.owner);
    if (problem !== undefined) say('config', `${quote(file.path)}: ${problem}`);
  }
}

/** A component does not know the users of the system that it is put on. */
function ownerProblem(owner: string | undefined): string | undefined {
  if (owner === undefined || /^(?:root|[0-9]+):(?:root|[0-9]+)$/.test(owner)) return undefined;
  return `its owner ${quote(owner)} is not root:root or two numbers`;
}

function pickRules(os: OperatingSystem, component: RecipeComponent, say: Say): void {
  const { pick, versions } = component;
  if (pick === undefined) return;
  if (versions === undefined) {
    say('pick', 'there is nothing to pick from: list the `versions`');
    return;
  }
  if (!versions.includes(pick.default))
    say('pick', `the default ${quote(pick.default)} is not among its versions`);
  const problem = destinationProblem(os, pick.link);
  if (problem !== undefined) say('pick', `its link: ${problem}`);
}

function updateRules({ updates }: RecipeComponent, say: Say): void {
  if (updates === undefined) return;
  const problem = patternProblem(updates.pattern);
  if (problem !== undefined) say('updates', problem);
}

const maxPattern = 1000;

/** A pattern is read here and run by RE2 alone: even an empty text can make another engine backtrack for years. */
function patternProblem(pattern: string): string | undefined {
  if (pattern.length > maxPattern) return `its pattern has more than ${maxPattern} characters`;
  try {
    new RegExp(pattern);
  } catch {
    return `its pattern ${quote(pattern)} is not a regular expression`;
  }
  const bare = pattern.replace(/\\[^1-9k]|\[(?:\\.|[^\]\\])*\]/gs, '');
  if (/\(\?<?[=!]|\\[1-9k]/.test(bare)) {
    return `its pattern ${quote(pattern)} has a look-around or a back-reference, which RE2 does not support`;
  }
  return /\((?!\?)|\(\?<[A-Za-z]/.test(bare) ? undefined : 'its pattern has no group (…) around the version';
}
