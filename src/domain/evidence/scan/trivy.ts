// Trivy's own JSON: vulnerabilities, failed checks of configuration, and secrets.

import type { Finding, FindingLevel, ScanReport } from '../finding.ts';
import { isList, type Loose, object, objects, text } from './loose.ts';

/** `undefined` when it is not whole. A report without results is one of a system in which nothing was found. */
export function readTrivy(document: Loose): ScanReport | undefined {
  const { Results: results } = document;
  if (results !== undefined && results !== null && !isList(results)) return undefined;
  const version = text(object(document.Trivy).Version);
  return {
    format: 'trivy',
    tool: 'trivy',
    ...(version === undefined ? {} : { toolVersion: version }),
    findings: objects(results).flatMap(findingsOf),
    dismissed: objects(results).flatMap((result) => objects(result.ExperimentalModifiedFindings)).length,
    subjects: [],
  };
}

function findingsOf(result: Loose): readonly Finding[] {
  const target = text(result.Target);
  const at = (where: string | undefined) => (where === undefined ? {} : { where });
  return [
    ...objects(result.Vulnerabilities).map((found) => {
      const names = [text(found.PkgName), text(found.InstalledVersion)].filter((name) => name !== undefined);
      return {
        id: text(found.VulnerabilityID) ?? 'unnamed',
        ...levelOf(found.Severity),
        ...at(names.join(' ') || target),
      };
    }),
    ...objects(result.Misconfigurations)
      .filter((found) => found.Status === undefined || found.Status === 'FAIL')
      .map((found) => ({ id: text(found.ID) ?? 'unnamed', ...levelOf(found.Severity), ...at(target) })),
    ...objects(result.Secrets).map((found) => ({
      id: text(found.RuleID) ?? 'secret',
      ...levelOf(found.Severity),
      ...at(target),
    })),
  ];
}

const levels: Readonly<Record<string, FindingLevel>> = {
  LOW: 'low',
  MEDIUM: 'medium',
  HIGH: 'high',
  CRITICAL: 'critical',
};

function levelOf(severity: unknown): { readonly level?: FindingLevel } {
  const level = levels[text(severity) ?? ''];
  return level === undefined ? {} : { level };
}
