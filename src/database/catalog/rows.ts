// Images, versions, channels, moves and evidence between their rows and their records.
import type { Selectable } from 'kysely';
import type { ChannelMove, ChannelRecord } from '../../domain/channel/channel.ts';
import type { PolicyResult } from '../../domain/channel/decision.ts';
import type { Evidence } from '../../domain/evidence/evidence.ts';
import type { ImageRecord, Origin, VersionRecord } from '../../domain/image/version.ts';
import { fromJson, optional, optionalJson } from '../connection/json.ts';
import type {
  ChannelMovesTable,
  ChannelsTable,
  EvidenceTable,
  ImagesTable,
  VersionsTable,
} from '../connection/tables.ts';

export function toImage(row: Selectable<ImagesTable>): ImageRecord {
  const { name, os, architecture, numbering } = row;
  return { name, os, architecture, numbering, ...simulatedMark(row), createdAt: row.created_at };
}

export function toVersion(row: Selectable<VersionsTable>): VersionRecord {
  return {
    image: row.image,
    version: row.version,
    digest: row.digest,
    diskDigest: row.disk_digest,
    sizeBytes: row.size_bytes,
    state: row.state,
    origin: fromJson<Origin>(row.origin),
    ...optional('kubernetes', row.kubernetes),
    ...(row.restricted ? { restricted: true } : {}),
    ...simulatedMark(row),
    ...optional('reason', row.reason),
    ...optional('withdrawnFrom', row.withdrawn_from),
    operation: row.operation,
    createdAt: row.created_at,
  };
}

export function toChannel(row: Selectable<ChannelsTable>): ChannelRecord {
  return {
    image: row.image,
    name: row.name,
    forTesting: row.for_testing,
    managed: row.managed,
    position: row.position,
    public: row.public,
    ...simulatedMark(row),
    ...optional('version', row.version),
    ...optional('digest', row.digest),
    ...optional('move', row.move),
    ...optional('movedAt', row.moved_at),
  };
}

export function toMove(row: Selectable<ChannelMovesTable>): ChannelMove {
  return {
    id: row.id,
    image: row.image,
    channel: row.channel,
    ...optional('from', row.from_version),
    ...optional('to', row.to_version),
    ...optional('toDigest', row.to_digest),
    by: row.moved_by,
    why: row.why,
    ...optional('operation', row.operation),
    ...optionalJson<'policy', PolicyResult>('policy', row.policy),
    at: row.at,
  };
}

export function toEvidence(row: Selectable<EvidenceTable>): Evidence {
  return {
    id: row.id,
    digest: row.digest,
    kind: row.kind,
    passed: row.passed,
    summary: row.summary,
    details: fromJson(row.details),
    by: row.given_by,
    ...optional('operation', row.operation),
    ...optional('composed', row.composed),
    ...simulatedMark(row),
    at: row.at,
  };
}

/** The mark as records carry it: absent from what is real. */
export function simulatedMark({ simulated }: { readonly simulated: boolean }): { readonly simulated?: true } {
  return simulated ? { simulated } : {};
}
