import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import PostalMime, { type Email } from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import { onTestFinished } from 'vitest';

export interface ReceivedMail {
  readonly recipients: readonly string[];
  readonly sender: string;
  readonly secure: boolean;
  readonly user: string | undefined;
  readonly raw: string;
  readonly mail: Email;
}

export interface MailServerOptions {
  /** Offers STARTTLS with the certificate of the tests; without it, there is none. */
  readonly tls?: boolean;
  readonly login?: { readonly user: string; readonly password: string };
  /** SMTP code with which a recipient is rejected, or all of the answer. */
  readonly reject?: (recipient: string) => number | string | undefined;
  /** SMTP code with which every sender is rejected. */
  readonly rejectSender?: number;
  /** SMTP code with which the content is rejected. */
  readonly rejectData?: () => number | undefined;
  /** Whether the connection is closed after the mail was received, before the response. */
  readonly drop?: () => boolean;
  readonly port?: number;
  readonly host?: string;
}

export interface MailServer {
  readonly port: number;
  readonly received: readonly ReceivedMail[];
  close(): Promise<void>;
}

const pemFile = (name: string) => fileURLToPath(new URL(`../http/tls/${name}`, import.meta.url));
const pem = (name: string) => readFileSync(pemFile(name), 'utf8');
export const TEST_CA = pemFile('ca.pem');

function refusal(answer: number | string): Error {
  const [code, text = `not this one <${answer}>`] = String(answer).split(/(?<=^\d{3}) /u);
  return Object.assign(new Error(text), { responseCode: Number(code) });
}

/** A real SMTP server on loopback that ends with the test. */
export async function startMailServer(options: MailServerOptions = {}): Promise<MailServer> {
  const { tls = false, login, reject, rejectSender, rejectData, drop, port = 0, host = '127.0.0.1' } = options;
  const received: ReceivedMail[] = [];
  const server = new SMTPServer({
    authOptional: login === undefined,
    allowInsecureAuth: true,
    disabledCommands: [...(tls ? [] : ['STARTTLS']), ...(login ? [] : ['AUTH'])],
    ...(tls && { key: pem('server.key'), cert: pem('server.pem') }),
    logger: false,
    onAuth(auth, _session, done) {
      const right = auth.username === login?.user && auth.password === login?.password;
      if (right) done(null, { user: login?.user });
      else done(refusal(535));
    },
    onMailFrom(_address, _session, done) {
      done(rejectSender === undefined ? null : refusal(rejectSender));
    },
    onRcptTo({ address }, _session, done) {
      const answer = reject?.(address);
      done(answer === undefined ? null : refusal(answer));
    },
    onData(stream, session, done) {
      text(stream).then(async (raw) => {
        const code = rejectData?.();
        if (code !== undefined) return done(refusal(code));
        received.push({
          raw,
          mail: await PostalMime.parse(raw),
          recipients: session.envelope.rcptTo.map(({ address }) => address),
          sender: session.envelope.mailFrom ? session.envelope.mailFrom.address : '',
          secure: session.secure,
          user: session.user as string | undefined,
        });
        if (drop?.()) for (const connection of server.connections) connection.close();
        else done();
      }, done);
    },
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject); // the port is in use
    server.listen(port, host, resolve);
  });
  server.on('error', () => {}); // a client that hangs up is what some tests are about
  let open = true;
  const close = async () => {
    if (open) await new Promise<void>((resolve) => server.close(() => resolve()));
    open = false;
  };
  onTestFinished(close);
  return { port: (server.server.address() as AddressInfo).port, received, close };
}

/** A port where nobody listens, and that the system gives to no server of another test. */
export const CLOSED_PORT = 1;
