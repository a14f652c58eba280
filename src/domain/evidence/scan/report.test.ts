import { describe, expect, test } from 'vitest';
import { countLevels } from '../finding.ts';
import { readScanReport } from './report.ts';

function counts(document: object) {
  const report = readScanReport(JSON.stringify(document));
  return { tool: report.tool, dismissed: report.dismissed, ...countLevels(report.findings) };
}

test('Trivy: vulnerabilities, failed checks and secrets; passed checks are none', () => {
  const document = {
    ...{ SchemaVersion: 2, ArtifactName: 'disk.raw' },
    Results: [
      {
        Target: 'debian 13',
        Vulnerabilities: [
          { VulnerabilityID: 'CVE-1', PkgName: 'openssl', InstalledVersion: '3', Severity: 'CRITICAL' },
          { VulnerabilityID: 'CVE-2', Severity: 'UNKNOWN' },
        ],
        Misconfigurations: [
          { ID: 'M1', Severity: 'HIGH', Status: 'FAIL' },
          { ID: 'M2', Severity: 'HIGH', Status: 'PASS' },
        ],
      },
      { Target: '/etc/key', Secrets: [{ RuleID: 'private-key', Severity: 'HIGH' }] },
    ],
  };
  expect(counts(document)).toMatchObject({ tool: 'trivy', critical: 1, high: 2, unknown: 1, low: 0 });
  expect(counts({ SchemaVersion: 2, ArtifactName: 'x' })).toMatchObject({ critical: 0, unknown: 0 });
});

test('CycloneDX: the worst rating counts, and VEX takes out what does not matter', () => {
  const vulnerabilities = [
    { id: 'CVE-1', ratings: [{ severity: 'low' }, { severity: 'critical' }] },
    { id: 'CVE-2', ratings: [{ severity: 'high' }], analysis: { state: 'not_affected' } },
    { id: 'CVE-3', ratings: [{ severity: 'high' }], analysis: { state: 'in_triage' } },
    { id: 'CVE-4' },
  ];
  const document = {
    ...{ bomFormat: 'CycloneDX', specVersion: '1.6', vulnerabilities },
    metadata: {
      tools: { components: [{ name: 'grype', version: '1' }] },
      component: { hashes: [{ alg: 'SHA-256', content: 'AB' }] },
    },
  };
  expect(counts(document)).toMatchObject({ tool: 'grype', critical: 1, high: 1, unknown: 1, dismissed: 1 });
  expect(readScanReport(JSON.stringify(document)).subjects).toEqual(['ab']);
});

test('SARIF: security severity before level, suppressions that were accepted, rules by index', () => {
  const document = {
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'Scanner',
            rules: [{ id: 'R0', properties: { 'security-severity': '9.8' } }, { id: 'R1' }],
          },
        },
        results: [
          { ruleIndex: 0, level: 'note' },
          { ruleId: 'R1', level: 'error' },
          { ruleId: 'R1' },
          { ruleId: 'R1', level: 'error', suppressions: [{ kind: 'external', status: 'accepted' }] },
          { ruleId: 'R1', level: 'error', suppressions: [{ kind: 'external', status: 'rejected' }] },
          { ruleId: 'R1', kind: 'pass' },
        ],
      },
    ],
  };
  expect(counts(document)).toMatchObject({ tool: 'Scanner', critical: 1, high: 2, medium: 1, dismissed: 2 });
});

describe('what is no report is an error, never a report without findings', () => {
  test.each([
    ['no JSON', '{'],
    ['a list', '[]'],
    ['something else', '{"hello": 1}'],
    ['an SBOM without vulnerabilities', '{"bomFormat": "CycloneDX"}'],
    ['a run that did not look', '{"runs": [{"tool": {"driver": {"name": "x"}}}]}'],
    ['a run that failed', '{"runs": [{"results": [], "invocations": [{"executionSuccessful": false}]}]}'],
    ['no run at all', '{"runs": []}'],
    ['broken results', '{"SchemaVersion": 2, "ArtifactName": "x", "Results": "none"}'],
  ])('%s', (_, text) => {
    expect(() => readScanReport(text)).toThrow(expect.objectContaining({ code: 'scan-unreadable' }));
  });

  test('another format than was said', () => {
    const text = '{"SchemaVersion": 2, "ArtifactName": "x"}';
    expect(() => readScanReport(text, 'sarif')).toThrow('not sarif but trivy');
  });
});
