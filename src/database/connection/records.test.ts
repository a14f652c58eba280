import { expect, test } from 'vitest';
import { auditEntry } from '../../domain/access/record.ts';
import { version } from '../../domain/image/record.ts';
import { records } from './records.ts';

const audit = records('audit', auditEntry);
const versions = records('versions', version);

const entry = { id: 1, at: '2026-01-01T00:00:00.000Z', who: 'ann', what: 'createPool', subject: 'pool/web' };
const request = { requestId: 'r1', status: 201 };

test('a stored JSON null is a value, and an empty column is an absent field', () => {
  const row = {
    ...entry,
    ...{ os_user: null, before: null, after: 'null', request_id: 'r1', status: 201, entry: 'e1' },
  };
  expect(audit.of(row)).toStrictEqual({ ...entry, after: null, ...request });
});

test('a record is written with a JSON null as a text, and absent fields as empty columns', () => {
  expect(audit.row({ who: 'ann', after: null })).toStrictEqual({
    ...{ who: 'ann', os_user: null, before: null, after: 'null' },
  });
});

test('a mark is a boolean column', () => {
  expect(versions.row({ simulated: true })).toMatchObject({ simulated: true, restricted: false });
});
