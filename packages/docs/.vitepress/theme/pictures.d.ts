/** Vite gives the address of a picture that is imported. */
declare module '*.svg' {
  const address: string;
  export default address;
}
