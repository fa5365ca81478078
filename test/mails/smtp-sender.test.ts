import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import {
  SmtpSender,
  type SmtpResult,
  type SmtpTimes,
} from '../../src/mails/sending/smtp-sender.js';
import { parseSmtpUrl, type SmtpAddress } from '../../src/config/smtp-url.js';
import { selfSignedCertificate } from '../harness/self-signed.js';
import { MailServer } from './support/mail-server.js';

const MAIL = {
  from: 'refer@ledger.example',
  to: 'ann@mail.example',
  bytes: Buffer.from('Subject: x\r\n\r\nhello\r\n.\r\n'),
};
/** Short for what never comes; what comes has a second and more. */
const SHORT: SmtpTimes = { connectMs: 5_000, greetingMs: 1_000, silenceMs: 1_500, totalMs: 4_000 };
const at = (port: number, more: Partial<SmtpAddress> = {}): SmtpAddress => ({
  host: '127.0.0.1',
  port,
  secure: false,
  requireTls: false,
  login: undefined,
  ...more,
});

let ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  ends = [];
});

async function mailServer(options: object = {}): Promise<MailServer> {
  const server = await MailServer.start(options);
  ends.push(() => server.stop());
  return server;
}

/** A server that sends the given lines, and then nothing. */
async function scripted(talk: (socket: Socket, line: string) => void, greeting = '220 hi\r\n') {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.write(greeting);
    socket.on('data', (data) => {
      for (const line of data.toString().split('\r\n').filter(Boolean)) talk(socket, line);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(
    () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(resolve);
      }),
  );
  return (server.address() as AddressInfo).port;
}

const agreeing =
  (afterData: (socket: Socket) => void) =>
  (socket: Socket, line: string): void => {
    if (/^(EHLO|MAIL|RCPT)/.test(line)) socket.write('250 ok\r\n');
    else if (line === 'DATA') socket.write('354 go on\r\n');
    else if (line === '.') afterData(socket);
  };

const sent = (address: SmtpAddress): Promise<SmtpResult> =>
  new SmtpSender(address, SHORT).send(MAIL);

it('a mail is taken, over TLS where the server offers it', async () => {
  const server = await mailServer();
  expect(await sent(at(server.port))).toEqual({ kind: 'taken' });
  expect(server.received[0]).toMatchObject({ to: [MAIL.to], from: MAIL.from, secure: true });
  expect(server.received[0]?.mail.text).toContain('hello\n.');
});

it('without TLS a mail is sent only where TLS is not required', async () => {
  const server = await mailServer({ hideSTARTTLS: true });
  expect(await sent(at(server.port))).toEqual({ kind: 'taken' });
  expect((await sent(at(server.port, { requireTls: true }))).kind).toBe('failed');
});

it('a certificate without a trusted issuer is refused where TLS is required', async () => {
  const { cert, key, remove } = await selfSignedCertificate();
  ends.push(remove);
  const server = await mailServer({ secure: true, cert, key });
  expect((await sent(at(server.port, { secure: true }))).kind).toBe('failed');
  expect(server.received).toHaveLength(0);
});

it('a login is made, and a refused one is tried again later', async () => {
  const server = await mailServer({
    authOptional: false,
    onAuth: (
      { password }: { password?: string },
      _: unknown,
      done: (error: Error | null, answer?: object) => void,
    ) => (password === 'good' ? done(null, { user: 'u' }) : done(new Error('no'))),
  });
  const login = (password: string) => at(server.port, { login: { user: 'u', password } });
  expect(await sent(login('good'))).toEqual({ kind: 'taken' });
  expect((await sent(login('bad'))).kind).toBe('failed');
});

it('codes tell whether another time may do', async () => {
  const server = await mailServer();
  for (const [code, kind] of [
    [451, 'failed'],
    [550, 'refused'],
  ] as const) {
    server.manners.set(MAIL.to, { code });
    expect(await sent(at(server.port))).toEqual({ kind, reason: `the server answered ${code}` });
  }
});

it('a server that is away, silent or cuts the line before the mail may get it again', async () => {
  const free = await scripted(() => undefined);
  for (const end of ends.splice(0)) await end();
  expect((await sent(at(free))).kind).toBe('failed');
  expect((await sent(at(await scripted(() => undefined, '')))).kind).toBe('failed');
  expect((await sent(at(await scripted(() => undefined)))).kind).toBe('failed');
  expect((await sent(at(await scripted((socket) => socket.destroy())))).kind).toBe('failed');
});

it('a server that is silent or disconnects after the mail may have accepted it', async () => {
  for (const port of [
    await scripted(agreeing(() => undefined)),
    await scripted(agreeing((socket) => socket.destroy())),
  ])
    expect((await sent(at(port))).kind).toBe('unknown');
});

it('a server that keeps talking ends with the whole time', async () => {
  const port = await scripted((socket) => {
    const timer = setInterval(() => socket.write('250-more\r\n'), 200);
    socket.on('close', () => clearInterval(timer));
  });
  expect(await sent(at(port))).toEqual({
    kind: 'failed',
    reason: 'the server did not answer in time',
  });
});

it('the address of a server says how it is talked to', () => {
  expect(parseSmtpUrl('smtp://mail.example')).toEqual({
    host: 'mail.example',
    port: 587,
    secure: false,
    requireTls: false,
    login: undefined,
  });
  expect(parseSmtpUrl('smtps://u%40x:p%2F@mail.example/')).toMatchObject({
    port: 465,
    secure: true,
    requireTls: true,
    login: { user: 'u@x', password: 'p/' },
  });
  expect(parseSmtpUrl('smtp://u:p@127.0.0.1:25')).toMatchObject({ requireTls: false });
  expect(parseSmtpUrl('smtp://[::1]:25?requireTLS=true')).toMatchObject({
    host: '::1',
    requireTls: true,
  });
});

it('the address of a server is refused without being quoted', () => {
  for (const bad of [
    'mail.example',
    'http://mail.example',
    'smtp://',
    'smtp://h/path',
    'smtp://u:%zz@h',
    'smtp://h?x=1',
  ])
    expect(parseSmtpUrl(bad)).toMatch(/^must be the address of a mail server/);
});
