// All rows of a database as one text: equal texts mean that nothing was written.
import { connectClient } from '../../src/database/connection/connection.ts';

/** Every table of Imago's schema but those left out, in a fixed order. */
export async function databaseText(url: string, without: readonly string[] = []): Promise<string> {
  const client = await connectClient(url);
  try {
    const tables = await client.query<{ name: string }>(
      `select table_name as name from information_schema.tables
       where table_schema = 'imago' and table_type = 'BASE TABLE' and not table_name = any($1) order by 1`,
      [without],
    );
    if (tables.rows.length < 10) throw new Error('There are fewer tables than there should be.');
    const parts: string[] = [];
    for (const { name } of tables.rows) {
      const rows = await client.query<{ row: string }>(
        `select t::text as row from imago."${name}" t order by 1`,
      );
      parts.push(name, ...rows.rows.map(({ row }) => row));
    }
    return parts.join('\n');
  } finally {
    await client.end();
  }
}
