import { join } from 'node:path';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.js';

/** A TCP proxy of a database's server, and the database's address through it. */
export async function startPostgresProxy(
  databaseUrl: string,
): Promise<{ readonly proxy: TcpProxy; readonly url: string }> {
  const url = new URL(databaseUrl);
  const path = join(decodeURIComponent(url.hostname), `.s.PGSQL.${url.port}`);
  const proxy = await startTcpProxy({ path });
  url.host = `127.0.0.1:${proxy.port}`;
  return { proxy, url: url.href };
}
