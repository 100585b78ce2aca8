const ALPHABET = '23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const LENGTH = 7;

/** A random code as the service's look, drawn as cheaply as can be: `Math.random` is no CSPRNG, and biased by a hair. */
export function newCode(): string {
  let code = '';
  for (let place = 0; place < LENGTH; place += 1) {
    code += ALPHABET[Math.floor(Math.random() * ALPHABET.length)];
  }
  return code;
}
