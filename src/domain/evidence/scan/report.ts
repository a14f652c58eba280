// What a scanner found, read from the reports that scanners write: SARIF, CycloneDX (with VEX) and Trivy's JSON.
// Imago brings no scanner. A report that cannot be read is an error, never a report without findings.
import { ImagoError } from '../../error/imago-error.ts';
import type { ReportFormat, ScanReport } from '../finding.ts';
import { readCycloneDx } from './cyclonedx.ts';
import { isList, isObject, type Loose } from './loose.ts';
import { readSarif } from './sarif.ts';
import { readTrivy } from './trivy.ts';

/** Throws `scan-unreadable` for text that is no JSON, of no known format, or broken within it. */
export function readScanReport(text: string, format?: ReportFormat): ScanReport {
  const document = parse(text);
  const found = formatOf(document);
  if (found === undefined || (format !== undefined && format !== found)) {
    const wanted = format === undefined ? 'SARIF, CycloneDX or Trivy JSON' : format;
    throw unreadable(`The report is not ${wanted}${found === undefined ? '' : ` but ${found}`}.`);
  }
  const report = readers[found](document);
  if (report === undefined) throw unreadable(`The report looks like ${found}, but its parts are not whole.`);
  return report;
}

const readers = {
  sarif: readSarif,
  cyclonedx: readCycloneDx,
  trivy: readTrivy,
} as const satisfies Record<ReportFormat, (document: Loose) => ScanReport | undefined>;

function formatOf(document: Loose): ReportFormat | undefined {
  if (document.bomFormat === 'CycloneDX') return 'cyclonedx';
  if (typeof document.SchemaVersion === 'number' && 'ArtifactName' in document) return 'trivy';
  return isList(document.runs) ? 'sarif' : undefined;
}

function parse(text: string): Loose {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ImagoError('scan-unreadable', 'The report is not JSON.', { cause });
  }
  if (!isObject(value)) throw unreadable('The report is not a JSON object.');
  return value;
}

function unreadable(message: string): ImagoError {
  return new ImagoError('scan-unreadable', message);
}
