// Tells systemd that the daemon is ready, if it started it as a service of the type `notify`.
import { execFile } from 'node:child_process';

/**
 * Takes the socket out of the environment, so that no child process reports in the daemon's name: PostgreSQL would.
 * Returns a function that reports readiness. It never fails: systemd ends a service that does not report in time.
 */
export function openServiceManager(env: NodeJS.ProcessEnv): () => void {
  const { NOTIFY_SOCKET: socket } = env;
  delete env.NOTIFY_SOCKET;
  if (socket === undefined) return () => undefined;
  return () => {
    const words = ['--ready', '--status=Ready for requests'];
    execFile('systemd-notify', words, { env: { ...env, NOTIFY_SOCKET: socket } }, () => undefined);
  };
}
