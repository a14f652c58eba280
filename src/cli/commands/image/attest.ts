// Attaches a scan report to a version.
import { createHash } from 'node:crypto';
import {
  countLevels,
  findingLevels,
  type ReportFormat,
  reportFormats,
} from '../../../domain/evidence/finding.ts';
import { readScanReport } from '../../../domain/evidence/scan/report.ts';
import { versionArgument } from '../../input/find-version.ts';
import { readText } from '../../input/read-text.ts';
import { write } from '../../run/builders.ts';
import { argument, type Invocation, text } from '../../spec/command.ts';

const maxFindings = 500;

export const command = write('attachScan', {
  details:
    'Accepts SARIF, CycloneDX with vulnerabilities (and VEX), and Trivy JSON. Imago does not include a scanner.',
  args: [versionArgument, { name: 'FILE', description: 'Scan report', completes: 'file', field: false }],
  flags: {
    format: {
      description: 'Report format (default: auto-detect)',
      value: 'FORMAT',
      choices: [...reportFormats],
    },
  },
  examples: [
    [
      'trivy rootfs --format json -o report.json /mnt && imago image attest node:1.34.2 report.json',
      'Attach a Trivy report',
    ],
  ],
  more: readReport,
  name: ({ id }) => String(id),
  done: ({ summary }, { request: { path } }) => `${path?.image}:${path?.version}: ${summary}`,
});

async function readReport(invocation: Invocation) {
  const content = await readText(argument(invocation, 'FILE'));
  const report = readScanReport(content, text(invocation, 'format') as ReportFormat | undefined);
  const level = (finding: (typeof report.findings)[number]) =>
    finding.level === undefined ? -1 : findingLevels.indexOf(finding.level);
  const { format, tool, toolVersion, dismissed, subjects } = report;
  return {
    ...{ format, tool, toolVersion, dismissed },
    counts: countLevels(report.findings),
    findings: [...report.findings]
      .sort((a, b) => level(b) - level(a))
      .slice(0, maxFindings)
      .map(({ id, where, ...rest }) => ({ ...rest, id: id.slice(0, 300), where: where?.slice(0, 500) })),
    subjects: subjects.slice(0, 20),
    reportDigest: `sha256:${createHash('sha256').update(content).digest('hex')}`,
  };
}
