const unicode = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** The forms in which a service may echo a secret, by name. */
export function secretForms(secret: string): Readonly<Record<string, string>> {
  const bytes = Buffer.from(secret);
  return {
    plain: secret,
    'percent-encoded': encodeURIComponent(secret),
    'percent-encoded in every character': bytes.toString('hex').replaceAll(/../gu, '%$&'),
    base64: bytes.toString('base64'),
    'base64 of user:secret': Buffer.from(`user:${secret}`).toString('base64'),
    base64url: bytes.toString('base64url'),
    hex: bytes.toString('hex'),
    'hex in upper case': bytes.toString('hex').toUpperCase(),
    'JSON-escaped': JSON.stringify(secret).slice(1, -1),
    'JSON-escaped twice': JSON.stringify(JSON.stringify(secret)).slice(3, -3),
    '\\u-escaped': [...secret].map(unicode).join(''),
    '\\u-escaped where needed': secret.replaceAll(/[^A-Za-z0-9]/gu, unicode),
  };
}

/** Whether a text contains enough of a form to recover the secret. */
export function findForms(text: string, secret: string): readonly string[] {
  return Object.entries(secretForms(secret)).flatMap(([name, form]) => {
    const inner = form.replaceAll('=', '').slice(name.startsWith('base64 of') ? 8 : 0, -2);
    return text.includes(inner) ? [name] : [];
  });
}

const hex = (code: number, digits: number) => code.toString(16).padStart(digits, '0');

/** The ways in which an encoder of JSON may write one character; each is valid JSON. */
function jsonForms(character: string): readonly string[] {
  const plain = JSON.stringify(character).slice(1, -1);
  const code = hex(character.charCodeAt(0), 4);
  return [plain, `\\u${code}`, `\\u${code.toUpperCase()}`, ...(character === '/' ? ['\\/'] : [])];
}

const byteForms = (character: string) => {
  const bytes = Buffer.from(character).toString('hex').replaceAll(/../gu, '%$&');
  return [bytes, bytes.toUpperCase(), ...(/[A-Za-z0-9]/u.test(character) ? [character] : [])];
};

const htmlForms = (character: string) => {
  const code = character.charCodeAt(0);
  const named = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' }[character];
  return [`&#${code};`, `&#x${code.toString(16)};`, ...(named === undefined ? [character] : [named])];
};

const ENCODERS = { JSON: jsonForms, URL: byteForms, HTML: htmlForms } as const;
export type Encoding = keyof typeof ENCODERS;

/** Writes a text as an encoder may that chooses a form for each character. `choices` are used in turn. */
export function encodeMixed(text: string, encoding: Encoding, choices: readonly number[]): string {
  return [...text]
    .map((character, index) => {
      const forms = character.length > 1 ? [character] : ENCODERS[encoding](character);
      return forms[(choices[index % choices.length] ?? 0) % forms.length];
    })
    .join('');
}
