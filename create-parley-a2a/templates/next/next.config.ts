import type { NextConfig } from 'next'

const config: NextConfig = {
  // The task log loads files of its own package at run time.
  serverExternalPackages: ['parley-a2a'],
}

export default config
