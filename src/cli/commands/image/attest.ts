// Attach what a scanner found.
import { createHash } from 'node:crypto';
import {
  countLevels,
  findingLevels,
  type ReportFormat,
  reportFormats,
} from '../../../domain/evidence/finding.ts';
import { readScanReport } from '../../../domain/evidence/scan/report.ts';
import { findVersion, imageArgument } from '../../input/find-version.ts';
import { readText } from '../../input/read-text.ts';
import { runWrite, writeFlags } from '../../run/run-write.ts';
import { argument, type CommandSpec, text } from '../../spec/command.ts';

const mostFindings = 500;

export const command: CommandSpec = {
  summary: 'Attach the report of a scanner to a version, as evidence',
  details: 'SARIF, CycloneDX with vulnerabilities (and VEX), or Trivy JSON. Imago brings no scanner.',
  args: [imageArgument, { name: 'FILE', what: 'the report', completes: 'file' }],
  flags: {
    format: { what: 'what the report is (default: found out)', value: 'FORMAT', choices: [...reportFormats] },
    ...writeFlags,
  },
  examples: [
    ['trivy rootfs --format json -o report.json /mnt && imago image attest node:1.34.2 report.json', 'Trivy'],
  ],
  async run(invocation) {
    const content = await readText(argument(invocation, 'FILE'));
    const report = readScanReport(content, text(invocation, 'format') as ReportFormat | undefined);
    const level = (finding: (typeof report.findings)[number]) =>
      finding.level === undefined ? -1 : findingLevels.indexOf(finding.level);
    const { format, tool, toolVersion, dismissed, subjects } = report;
    const path = await findVersion(await invocation.client(), argument(invocation, 'IMAGE'));
    await runWrite(invocation, {
      endpoint: 'attachScan',
      input: {
        path,
        body: {
          ...{ format, tool, dismissed },
          ...(toolVersion === undefined ? {} : { toolVersion }),
          counts: countLevels(report.findings),
          findings: [...report.findings]
            .sort((a, b) => level(b) - level(a))
            .slice(0, mostFindings)
            .map(({ id, where, ...rest }) => ({
              ...rest,
              id: id.slice(0, 300),
              ...(where === undefined ? {} : { where: where.slice(0, 500) }),
            })),
          subjects: subjects.slice(0, 20),
          reportDigest: `sha256:${createHash('sha256').update(content).digest('hex')}`,
        },
      },
      name: ({ id }) => String(id),
      lines: ({ summary }) => [`${path.image}:${path.version}: ${summary}`],
    });
  },
};
