const ALPHABET = '23456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const LENGTH = 7;

/** A random code that looks like those of the service. `Math.random` is cheap, but it is no CSPRNG and slightly biased. */
export function newCode(): string {
  let code = '';
  for (let place = 0; place < LENGTH; place += 1) {
    code += ALPHABET[Math.floor(Math.random() * ALPHABET.length)];
  }
  return code;
}
