import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { SIGNATURE_NAMESPACE } from '../act/approvals.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { readNamedFile } from '../core/fs.ts';

/** More than any signature file has, and any message of ssh-keygen. */
const MAX_KIBIBYTES = 4;

/** The signature of an approval, which is in a file or is made with a key; undefined where none is asked for. */
export async function obtainSignature(
  context: Context,
  { key, signature }: { readonly key?: string; readonly signature?: string },
  statement: string,
): Promise<string | undefined> {
  if (signature !== undefined)
    return readNamedFile(resolve(context.cwd, signature), {
      maxKibibytes: MAX_KIBIBYTES,
      hint: 'name the signature file',
    });
  return key === undefined ? undefined : signWithKey(context, resolve(context.cwd, key), statement);
}

/** As git does it: `ssh-keygen` asks for a passphrase, and uses the agent where the file is that of a public key. */
function signWithKey({ signal }: Context, key: string, statement: string): Promise<string> {
  const child = spawn('ssh-keygen', ['-Y', 'sign', '-n', SIGNATURE_NAMESPACE, '-f', key], { signal });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] = (output[name] + text).slice(0, MAX_KIBIBYTES * 1024);
    });
  }
  // It may end before it reads what to sign, and then says why.
  child.stdin.on('error', () => {}).end(statement);
  return new Promise((done, fail) => {
    const refuse = (reason: string, cause?: unknown) =>
      fail(
        new TidemarkError('USAGE', `ssh-keygen did not sign with ${key}: ${reason}`, {
          cause,
          hint: 'or sign elsewhere what --print prints, and pass the result with --signature FILE',
        }),
      );
    child.once('error', (error) => refuse(error.message, error));
    child.once('close', (code) => (code === 0 ? done(output.stdout) : refuse(output.stderr.trim() || `exit ${code}`)));
  });
}
