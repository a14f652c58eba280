// Settings under which every value has one text that PostgreSQL reads back to the same value, on any machine.
import type { SessionSettings } from '../connection/connection.ts';

export const sessionSettings = {
  search_path: '',
  datestyle: 'ISO, YMD',
  intervalstyle: 'iso_8601',
  extra_float_digits: '3',
  bytea_output: 'hex',
  client_encoding: 'UTF8',
  // The copy of a long table must not be interrupted.
  statement_timeout: '0',
  idle_in_transaction_session_timeout: '0',
} as const satisfies SessionSettings;
