// Start the daemon.
import { ensureDaemon } from '../../launcher/process.ts';
import { type CommandSpec, text } from '../spec/command.ts';
import { usage } from '../spec/parse.ts';

export const command: CommandSpec = {
  summary: 'Start the daemon, or find the one that runs',
  details: 'Other commands start it by themselves; this one is for its flags.',
  flags: {
    provider: {
      what: 'the provider for new pools, builds and tests',
      value: 'NAME',
      choices: ['local', 'sim'],
    },
    listen: { what: 'also listen on TCP; then tokens are needed', value: 'HOST:PORT' },
    'tls-certificate': { what: 'the certificate for --listen', value: 'FILE', completes: 'file' },
    'tls-key': { what: 'the key of the certificate', value: 'FILE', completes: 'file' },
    'time-scale': { what: 'how many times faster simulated time runs (default: 1000)', value: 'N' },
  },
  examples: [
    ['imago up', 'start it'],
    ['imago up --listen 127.0.0.1:7443', 'and let others in, with tokens'],
  ],
  async run(invocation) {
    const provider = text(invocation, 'provider');
    const listen = text(invocation, 'listen');
    const tlsCertificate = text(invocation, 'tls-certificate');
    const tlsKey = text(invocation, 'tls-key');
    const scale = text(invocation, 'time-scale');
    if (scale !== undefined && !(Number(scale) > 0))
      throw usage(`--time-scale is a number above 0, not ${JSON.stringify(scale)}.`, 'up');
    const daemon = await ensureDaemon({
      flags: {
        ...(provider && { provider }),
        ...(listen && { listen }),
        ...(tlsCertificate && { tlsCertificate }),
        ...(tlsKey && { tlsKey }),
        ...(scale && { timeScale: Number(scale) }),
      },
      onProgress: (sentence) => invocation.out.note(sentence),
    });
    invocation.out.thing(daemon, String(daemon.pid), () => [
      daemon.started
        ? `Started the daemon, process ${daemon.pid}`
        : `The daemon runs already, process ${daemon.pid}`,
    ]);
  },
};
