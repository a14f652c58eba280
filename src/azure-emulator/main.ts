// The program of `imago azure emulate`: prints where it is, and runs until a signal ends it or its caller is gone.
import { createWriteStream } from 'node:fs';
import { parseArgs } from 'node:util';
import { ensureImagoError } from '../domain/error/imago-error.ts';
import { serveEmulator } from './server.ts';

const subscription = '00000000-0000-0000-0000-000000000000';

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      json: { type: 'boolean', default: false },
      'any-subscription': { type: 'boolean', default: false },
      clock: { type: 'string', default: '1' },
      port: { type: 'string', default: '0' },
      log: { type: 'string' },
      state: { type: 'string' },
    },
  });
  const log = values.log === undefined ? undefined : createWriteStream(values.log, { flags: 'a' });
  const running = await serveEmulator({
    subscription,
    anySubscription: values['any-subscription'],
    timeScale: Number(values.clock),
    port: Number(values.port),
    ...(values.state === undefined ? {} : { state: values.state }),
    ...(log === undefined ? {} : { log: (exchange) => log.write(`${JSON.stringify(exchange)}\n`) }),
  });
  const { url, ca, token } = running;
  const { pid } = process;
  const stop = () => {
    void running.close().then(() => process.exit(0));
  };
  process.once('SIGTERM', stop);
  process.once('SIGINT', stop);
  process.once('disconnect', stop);
  const lines = [`Azure emulator at ${url}, process ${pid}`, `CA: ${ca}`, `Subscription: ${subscription}`];
  const text = values.json ? JSON.stringify({ url, ca, token, subscription, pid }) : lines.join('\n');
  process.stdout.write(`${text}\n`);
}

main().catch((thrown: unknown) => {
  process.stderr.write(`${ensureImagoError(thrown).message}\n`);
  process.exit(1);
});
