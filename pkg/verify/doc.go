// Package verify derives a run's records again, from git alone.
package verify
