package audit

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"hash/adler32"
	"hash/crc32"
	"hash/crc64"
	"hash/fnv"
	"math/bits"
	"strconv"
	"strings"
)

// longText is hashed as it is only.
const longText = 4096

// variants are the ways in which a program may hold a text before it hashes it.
func variants(text string) []string {
	if len(text) > longText {
		return []string{text}
	}
	trimmed := strings.TrimSpace(text)
	list := []string{text}
	for _, v := range []string{trimmed, strings.ToLower(trimmed), strings.ToUpper(trimmed), strconv.Quote(trimmed), trimmed + "\n"} {
		if v != "" && v != list[len(list)-1] && v != text {
			list = append(list, v)
		}
	}
	return list
}

// byteDigests are the digests that are written in hex or base64.
func byteDigests(data []byte) [][]byte {
	m, s1, s224, s256, s384, s512 := md5.Sum(data), sha1.Sum(data), sha256.Sum224(data), sha256.Sum256(data), sha512.Sum384(data), sha512.Sum512(data)
	list := [][]byte{m[:], s1[:], s224[:], s256[:], s384[:], s512[:]}
	for _, size := range []int{64, 32, 20, 16, 8} { // Python's digest_size changes the digest
		list = append(list, blake2b(data, size))
	}
	return list
}

// numberDigests are the hashes that are written as numbers.
func numberDigests(data []byte) []uint64 {
	f32, f32a, f64, f64a := fnv.New32(), fnv.New32a(), fnv.New64(), fnv.New64a()
	f32.Write(data)
	f32a.Write(data)
	f64.Write(data)
	f64a.Write(data)
	java, djb, djbx, sdbm := uint32(0), uint64(5381), uint64(5381), uint64(0)
	for _, r := range string(data) {
		java = java*31 + uint32(r)
	}
	for _, c := range data {
		djb = djb*33 + uint64(c)
		djbx = djbx*33 ^ uint64(c)
		sdbm = uint64(c) + sdbm<<6 + sdbm<<16 - sdbm
	}
	list := []uint64{
		uint64(crc32.ChecksumIEEE(data)), uint64(crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))), uint64(adler32.Checksum(data)),
		crc64.Checksum(data, crc64.MakeTable(crc64.ISO)), crc64.Checksum(data, crc64.MakeTable(crc64.ECMA)),
		uint64(f32.Sum32()), uint64(f32a.Sum32()), f64.Sum64(), f64a.Sum64(),
		uint64(java), djb, djb & 0xffffffff, djbx, djbx & 0xffffffff, sdbm, sdbm & 0xffffffff,
		uint64(murmur3(data)), uint64(xxh32(data)), xxh64(data),
	}
	if int32(java) < 0 {
		list = append(list, uint64(-int64(int32(java))))
	}
	return list
}

// murmur3 is MurmurHash3_x86_32 with seed 0.
func murmur3(data []byte) uint32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	h, n := uint32(0), uint32(len(data))
	for ; len(data) >= 4; data = data[4:] {
		h ^= bits.RotateLeft32(binary.LittleEndian.Uint32(data)*c1, 15) * c2
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
	}
	k := uint32(0)
	for i := len(data) - 1; i >= 0; i-- {
		k = k<<8 | uint32(data[i])
	}
	h ^= bits.RotateLeft32(k*c1, 15) * c2
	h ^= n
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

// xxh32 is XXH32 with seed 0.
func xxh32(data []byte) uint32 {
	const p1, p2, p3, p4, p5 uint32 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
	n, h := len(data), p5
	if n >= 16 {
		one := p1
		v := [4]uint32{one + p2, p2, 0, -one}
		for ; len(data) >= 16; data = data[16:] {
			for i := range v {
				v[i] = bits.RotateLeft32(v[i]+binary.LittleEndian.Uint32(data[4*i:])*p2, 13) * p1
			}
		}
		h = bits.RotateLeft32(v[0], 1) + bits.RotateLeft32(v[1], 7) + bits.RotateLeft32(v[2], 12) + bits.RotateLeft32(v[3], 18)
	}
	h += uint32(n)
	for ; len(data) >= 4; data = data[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(data)*p3, 17) * p4
	}
	for _, c := range data {
		h = bits.RotateLeft32(h+uint32(c)*p5, 11) * p1
	}
	h = (h ^ h>>15) * p2
	h = (h ^ h>>13) * p3
	return h ^ h>>16
}

// The primes of XXH64.
const (
	xp1 uint64 = 11400714785074694791
	xp2 uint64 = 14029467366897019727
	xp3 uint64 = 1609587929392839161
	xp4 uint64 = 9650029242287828579
	xp5 uint64 = 2870177450012600261
)

// xxh64 is XXH64 with seed 0.
func xxh64(data []byte) uint64 {
	round := func(acc, v uint64) uint64 { return bits.RotateLeft64(acc+v*xp2, 31) * xp1 }
	n, h := len(data), xp5
	if n >= 32 {
		one := xp1
		v := [4]uint64{one + xp2, xp2, 0, -one}
		for ; len(data) >= 32; data = data[32:] {
			for i := range v {
				v[i] = round(v[i], binary.LittleEndian.Uint64(data[8*i:]))
			}
		}
		h = bits.RotateLeft64(v[0], 1) + bits.RotateLeft64(v[1], 7) + bits.RotateLeft64(v[2], 12) + bits.RotateLeft64(v[3], 18)
		for _, x := range v {
			h = (h^round(0, x))*xp1 + xp4
		}
	}
	h += uint64(n)
	for ; len(data) >= 8; data = data[8:] {
		h = bits.RotateLeft64(h^round(0, binary.LittleEndian.Uint64(data)), 27)*xp1 + xp4
	}
	if len(data) >= 4 {
		h = bits.RotateLeft64(h^uint64(binary.LittleEndian.Uint32(data))*xp1, 23)*xp2 + xp3
		data = data[4:]
	}
	for _, c := range data {
		h = bits.RotateLeft64(h^uint64(c)*xp5, 11) * xp1
	}
	h = (h ^ h>>33) * xp2
	h = (h ^ h>>29) * xp3
	return h ^ h>>32
}

var blakeIV = [8]uint64{
	0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
	0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
}

var blakeSigma = [10][16]byte{
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
	{11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
	{9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
	{12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
	{6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
}

// blake2b is unkeyed BLAKE2b with a digest of size bytes.
func blake2b(data []byte, size int) []byte {
	h := blakeIV
	h[0] ^= 0x01010000 ^ uint64(size)
	done := uint64(0)
	for {
		var block [128]byte
		n := copy(block[:], data)
		data = data[n:]
		done += uint64(n)
		blakeRounds(&h, &block, done, len(data) == 0)
		if len(data) == 0 {
			break
		}
	}
	out := make([]byte, 64)
	for i, v := range h {
		binary.LittleEndian.PutUint64(out[8*i:], v)
	}
	return out[:size]
}

// blakeRounds is the compression function of BLAKE2b.
func blakeRounds(h *[8]uint64, block *[128]byte, done uint64, last bool) {
	var m, v [16]uint64
	for i := range m {
		m[i] = binary.LittleEndian.Uint64(block[8*i:])
	}
	copy(v[:8], h[:])
	copy(v[8:], blakeIV[:])
	if v[12] ^= done; last {
		v[14] = ^v[14]
	}
	mix := func(a, b, c, d int, x, y uint64) {
		v[a] += v[b] + x
		v[d] = bits.RotateLeft64(v[d]^v[a], -32)
		v[c] += v[d]
		v[b] = bits.RotateLeft64(v[b]^v[c], -24)
		v[a] += v[b] + y
		v[d] = bits.RotateLeft64(v[d]^v[a], -16)
		v[c] += v[d]
		v[b] = bits.RotateLeft64(v[b]^v[c], -63)
	}
	for round := range 12 {
		s := &blakeSigma[round%10]
		for i := range 4 {
			mix(i, i+4, i+8, i+12, m[s[2*i]], m[s[2*i+1]])
		}
		for i := range 4 {
			mix(i, (i+1)%4+4, (i+2)%4+8, (i+3)%4+12, m[s[2*i+8]], m[s[2*i+9]])
		}
	}
	for i := range h {
		h[i] ^= v[i] ^ v[i+8]
	}
}
