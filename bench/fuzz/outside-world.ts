import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

/**
 * What the service calls: endpoints of webhooks, a payment provider that has nothing, and a server
 * that takes every mail.
 */
export interface OutsideWorld {
  readonly url: string;
  readonly smtpUrl: string;
  close(): Promise<void>;
}

/** Fits every call of the provider's interface: an object, and a list without items. */
const NOTHING = JSON.stringify({ id: 'nothing', object: 'list', data: [], has_more: false });

export async function openOutsideWorld(): Promise<OutsideWorld> {
  const http = createHttpServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json' }).end(NOTHING);
  });
  const mails = createServer(takeMails);
  const sockets = new Set<Socket>();
  for (const server of [http, mails])
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => sockets.delete(socket));
    });
  return {
    url: `http://127.0.0.1:${await portOf(http)}`,
    smtpUrl: `smtp://127.0.0.1:${await portOf(mails)}`,
    close: async () => {
      const closed = [http, mails].map((server) => once(server, 'close'));
      http.close();
      mails.close();
      for (const socket of sockets) socket.destroy();
      await Promise.all(closed);
    },
  };
}

async function portOf(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

function takeMails(socket: Socket): void {
  let isMail = false;
  const say = (line: string): void => void socket.write(`${line}\r\n`);
  say('220 ready');
  createInterface({ input: socket }).on('line', (line) => {
    if (isMail) {
      if (line !== '.') return;
      isMail = false;
      return say('250 taken');
    }
    const verb = line.slice(0, 4).toUpperCase();
    isMail = verb === 'DATA';
    if (verb === 'QUIT') socket.end('221 bye\r\n');
    else say(isMail ? '354 go on' : '250 good');
  });
}
