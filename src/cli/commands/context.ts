// Commands for contexts: servers by name, with their certificates and tokens.
import { ImagoError } from '../../domain/error/imago-error.ts';
import {
  type Context,
  changeContexts,
  localContext,
  readContexts,
  requireContext,
} from '../../launcher/contexts.ts';
import { readText } from '../input/read-text.ts';
import { keyValueLines } from '../output/table.ts';
import { group } from '../run/builders.ts';
import { argument, type CommandSpec, type Invocation, requiredText, text } from '../spec/command.ts';

const args = [{ name: 'NAME', description: 'Name of the context', completes: 'context' }] as const;

const add: CommandSpec = {
  summary: 'Add a server, or change its address',
  details: 'A token that was stored for it stays, if the address does.',
  args,
  flags: {
    url: { description: 'Address, such as https://imago.example.com:7443', value: 'URL', required: true },
    ca: {
      description: 'File with the certificates to trust in addition (`ca` in `imago status` on that host)',
      value: 'FILE',
      completes: 'file',
    },
  },
  examples: [
    ['imago context add prod --url https://imago.example.com:7443 --ca ca.pem', 'Add a server'],
    ['imago login prod && imago context use prod', 'Store a token for it, and use it from now on'],
  ],
  async run(invocation) {
    const name = argument(invocation, 'NAME');
    if (!/^[a-z0-9][a-z0-9.-]{0,62}$/.test(name) || name === localContext) {
      throw new ImagoError('name-malformed', `${JSON.stringify(name)} cannot be the name of a context.`);
    }
    const url = requiredText(invocation, 'url');
    if (!/^https?:/.test(url) || !URL.canParse(url)) {
      throw new ImagoError('usage-invalid', `${JSON.stringify(url)} is not the URL of a daemon.`, {
        hint: 'Give a URL such as https://imago.example.com:7443.',
      });
    }
    const file = text(invocation, 'ca');
    const ca = file === undefined ? undefined : await readText(file);
    await changeContexts((all) => {
      const before = Object.hasOwn(all.contexts, name) ? all.contexts[name] : undefined;
      const kept = before?.url === url ? before : undefined;
      return {
        ...all,
        contexts: { ...all.contexts, [name]: { ...kept, url, ...(ca !== undefined && { ca }) } },
      };
    });
    print(invocation, name, `Context ${name} is ${url}. Log in with \`imago login ${name}\`.`);
  },
};

const use: CommandSpec = {
  summary: 'Use a server for all commands from now on',
  details: `\`${localContext}\` is the daemon of this host. \`--context\`, IMAGO_URL, and IMAGO_CONTEXT take precedence.`,
  args,
  examples: [['imago context use local', 'Use the daemon of this host again']],
  async run(invocation) {
    const name = argument(invocation, 'NAME');
    await changeContexts(({ current: _before, ...all }) => {
      if (name === localContext) return all;
      requireContext(all, name);
      return { ...all, current: name };
    });
    print(invocation, name, `Commands use ${name} from now on`);
  },
};

const forget: CommandSpec = {
  summary: 'Forget a server and its token',
  args,
  examples: [['imago context forget prod', 'Delete the stored token; it stays valid until it is revoked']],
  async run(invocation) {
    const name = argument(invocation, 'NAME');
    await changeContexts((all) => {
      requireContext(all, name);
      const { [name]: _gone, ...contexts } = all.contexts;
      return { ...(all.current !== undefined && all.current !== name && { current: all.current }), contexts };
    });
    print(invocation, name, `Context ${name} is forgotten`);
  },
};

const list: CommandSpec = {
  summary: 'List the servers, and which one commands use',
  examples: [['imago context list', 'List servers, without their tokens']],
  async run(invocation) {
    const { contexts } = readContexts();
    const used = usedContext();
    const items = [[localContext, undefined] as const, ...Object.entries(contexts)].map(([name, context]) =>
      view(name, context, name === used),
    );
    invocation.out.list({ items }, ({ name }) => name, {
      '': ({ current }) => (current ? '*' : ''),
      name: ({ name }) => name,
      url: ({ url }) => url,
      token: ({ token }) => (token ? 'stored' : undefined),
      ca: ({ ca }) => (ca ? 'own' : undefined),
    });
  },
};

const show: CommandSpec = {
  summary: 'Show the server that commands use, and who you are to it',
  examples: [['imago context show --context prod', 'Check the address and the token of a server']],
  async run(invocation) {
    const client = await invocation.client();
    const identity = await client.call('showIdentity');
    const whole = { context: usedContext(), url: process.env.IMAGO_URL, ...identity };
    invocation.out.thing(whole, whole.context ?? '', () => keyValueLines({ ...whole }));
  },
};

export const command = group({ add, use, list, show, forget });

/** Returns the name of the context in use; `undefined` for an IMAGO_URL that is none. */
function usedContext(): string | undefined {
  const { IMAGO_URL: url, IMAGO_CONTEXT: name } = process.env;
  return url ? name : localContext;
}

function view(name: string, context: Context | undefined, current: boolean) {
  return {
    name,
    current,
    url: context?.url,
    token: context?.token !== undefined,
    ca: context?.ca !== undefined,
  };
}

function print(invocation: Invocation, name: string, line: string): void {
  const context = readContexts().contexts[name];
  invocation.out.thing(view(name, context, readContexts().current === name), name, () => [line]);
}
