import { openDedicatedConnection } from './postgres-connection.js';
import { asUnavailable } from './postgres-failures.js';

/** For a scan of the whole log: of ten million events it takes a minute. */
const CONTRADICTION_MS = 600_000;
/** One statement sees one snapshot of the log during concurrent appends. */
const CONTRADICTION = `
  with numbered as (
    select position, stream, revision, row_number() over (order by position) as place,
           row_number() over (partition by stream order by revision) - 1 as expected
      from ledger.events),
  ends as (select stream, max(revision) as revision, max(position) as position from ledger.events group by stream)
  select min(position)::text as position from (
    select place as position from numbered where position <> place
    union all select position from numbered where revision <> expected
    union all select coalesce(e.position, 1) from ends e full join ledger.streams s using (stream) where e.revision is distinct from s.revision
    union all select least(h.position, n.newest) + 1
      from ledger.log_head h, (select coalesce(max(position), 0) as newest from ledger.events) n where h.position <> n.newest
  ) as contradicted`;

/** The first position with contradicting tables; null: none. @throws {EventLogUnavailable} */
export async function findContradiction(
  url: () => string,
  connectTimeoutMs: number,
): Promise<bigint | null> {
  const connection = await openDedicatedConnection({
    url,
    applicationName: 'ledger-log-verifier',
    connectTimeoutMs,
    statementTimeoutMs: CONTRADICTION_MS,
  }).catch((error: unknown) => {
    throw asUnavailable(error);
  });
  try {
    const { rows } = await connection.client.query<{ position: string | null }>(CONTRADICTION);
    const position = rows[0]?.position ?? null;
    return position === null ? null : BigInt(position);
  } catch (error) {
    throw asUnavailable(error);
  } finally {
    connection.destroy();
  }
}
