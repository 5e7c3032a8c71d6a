/** The parts of gifenc that `moving-picture.ts` uses. The package has no declarations. */
declare module 'gifenc' {
  type Palette = number[][]

  interface FrameOptions {
    readonly palette: Palette
    readonly transparent: boolean
    readonly transparentIndex: number
    readonly dispose: number
    readonly delay: number
  }

  interface Encoder {
    writeFrame(indexes: Uint8Array, width: number, height: number, options: FrameOptions): void
    finish(): void
    bytes(): Uint8Array
  }

  const gifenc: {
    GIFEncoder(): Encoder
    quantize(pixels: Uint8Array, maxColors: number): Palette
    applyPalette(pixels: Uint8Array, palette: Palette): Uint8Array
  }
  // biome-ignore lint/style/noDefaultExport: as the package exports it.
  export default gifenc
}
