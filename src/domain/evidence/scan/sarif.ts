// SARIF 2.1: results of any analyser. Levels come from the security severity where there is one.

import type { Finding, FindingLevel, ScanReport } from '../finding.ts';
import { isList, type Loose, object, objects, text } from './loose.ts';

/** `undefined` when a run has no results at all, which SARIF means for a run that did not look, or failed. */
export function readSarif(document: Loose): ScanReport | undefined {
  const runs = objects(document.runs);
  if (runs.length === 0 || runs.some((run) => !isList(run.results) || failed(run))) return undefined;
  const driver = object(object(runs[0]?.tool).driver);
  const version = text(driver.semanticVersion) ?? text(driver.version);
  const all = runs.flatMap((run) => objects(run.results).map((result) => ({ run, result })));
  const open = all.filter(({ result }) => isOpen(result));
  return {
    format: 'sarif',
    tool: text(driver.name) ?? 'sarif',
    ...(version === undefined ? {} : { toolVersion: version }),
    findings: open.map(({ run, result }) => findingOf(run, result)),
    dismissed: all.length - open.length,
    subjects: [],
  };
}

function failed(run: Loose): boolean {
  return objects(run.invocations).some(({ executionSuccessful }) => executionSuccessful === false);
}

/** Suppressed, passing and merely informing results are none. A suppression that is not accepted suppresses nothing. */
function isOpen(result: Loose): boolean {
  const kind = text(result.kind) ?? 'fail';
  if (kind !== 'fail' && kind !== 'open' && kind !== 'review') return false;
  if (result.baselineState === 'absent') return false;
  return !objects(result.suppressions).some(({ status }) => status === undefined || status === 'accepted');
}

function findingOf(run: Loose, result: Loose): Finding {
  const rule = ruleOf(run, result);
  const id = text(result.ruleId) ?? text(object(result.rule).id) ?? text(rule.id) ?? 'unnamed';
  const level = levelOf(result, rule);
  const [first] = objects(result.locations);
  const where = text(object(object(object(first).physicalLocation).artifactLocation).uri);
  return {
    id,
    ...(level === undefined ? {} : { level }),
    ...(where === undefined ? {} : { where }),
  };
}

function ruleOf(run: Loose, result: Loose): Loose {
  const rules = objects(object(object(run.tool).driver).rules);
  const { ruleIndex, ruleId } = result;
  const indexed = typeof ruleIndex === 'number' ? rules[ruleIndex] : undefined;
  return indexed ?? rules.find(({ id }) => id === ruleId) ?? {};
}

function levelOf(result: Loose, rule: Loose): FindingLevel | undefined {
  const score = scoreOf(result) ?? scoreOf(rule);
  if (score !== undefined) return byScore(score);
  const level = text(result.level) ?? text(object(rule.defaultConfiguration).level) ?? 'warning';
  return byWord[level];
}

/** Written as text by most tools. */
function scoreOf({ properties }: Loose): number | undefined {
  const given = object(properties)['security-severity'];
  const score = typeof given === 'string' && given !== '' ? Number(given) : given;
  return typeof score === 'number' && Number.isFinite(score) ? score : undefined;
}

/** The bounds of CVSS. */
function byScore(score: number): FindingLevel {
  if (score >= 9) return 'critical';
  if (score >= 7) return 'high';
  return score >= 4 ? 'medium' : 'low';
}

const byWord: Readonly<Record<string, FindingLevel>> = {
  error: 'high',
  warning: 'medium',
  note: 'low',
  none: 'low',
};
