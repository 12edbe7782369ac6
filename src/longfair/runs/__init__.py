"""Run and remember: experiments, runner, store, provenance, statistics, verdicts.

A result has six digests. Each answers another question, so each changes for another reason:

==============  ============================  =====================  ============================
digest          covers                        made by                where it is another one
==============  ============================  =====================  ============================
``key``         settings, seed, declared      `keys.run_key`, of     the result is *stale*: the
                revisions, versions of the    the result and of the  runner computes it again
                packages that do arithmetic   code installed now
``source``      the code that an arm's        `sources.arm_digest`,  *to be proven*: the same bits
                numbers can depend on, but    in the worker          by ``longfair verify
                for docstrings and layout                            --against``; it stays fresh
``stamp``       size and times of the file    `index.stamp_of`       *read again*: the index opens
                on this disk, no bytes                               the file and checks it
``file``        all bytes of the file         `index.Index`, for     *not the file in the
                                              the manifest too       manifest*: restored from git,
                                                                     or entered anew
``content``     the rows in their order,      `files.write`, into    *damaged*: set aside and
                however they are encoded      the file               computed again
``provenance``  how the result came to be;    `files.write`, into    *damaged*, as above
                ``key`` and ``source`` are    the file
                part of it
==============  ============================  =====================  ============================

An `index.Entry` calls ``source`` its `code_digest`, ``stamp`` its `size_and_times`, and ``file``
its `bytes_digest`. What is worked out from results, such as verdicts, is remembered under digests
of all that it rests on (`board`, `evidence`, `check_memory`); there `sources.library_stamp`, names,
sizes and times of the library's own files, stands for the code.
"""
