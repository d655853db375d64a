import { negatedVerbs, phrases, type WordList } from './lists.ts';

/** English: always on. */
export const en: WordList = {
  yes: phrases(`
    yes | yep | yeah | yea | yeh | yup | yip | yas | yah | yse | yesh | yess | aye | aye aye | +1
    | yes sir | yes indeed | yes i do | yes we do | yes you may | yes you can | affirmative | affirm | absolutely | definitely | certainly | of course | ofc | by all means | for sure
    | sure | sure thing | shure | totally | be my guest | gladly
    | go ahead | goahead | go ahed | go ahaed | go aheda | go ahaead | go a head | goahed | go ahad
    | go for it | go 4 it | gofer it | go on then | go right ahead | good to go | you are good to go | you're good to go | youre good to go
    | go with it | go with that | let's go | lets go | let's do it | lets do it | let's do this | lets do this | let's do that | let's roll | let's go ahead | let's proceed
    | do it | do ti | doit | do that | do this | do so | do them | do all | do everything | please do | just do it | just go ahead | just go
    | just run it | just proceed | just go for it | do eet | do itt
    | begin | we can proceed | let us proceed | proceed | proced | procede | prceed | proceeed | procceed | please proceed
    | continue | carry on | keep going | carry it out
    | approve | approved | aprove | aproved | approv | apporved | appoved | approve it | i approve | approval granted | permission granted | granted
    | you have my approval | you have my permission | you have permission | you have my ok | allow it | allowed | authorize | authorise | authorized | authorised
    | accept it | accepted | agreed | agree | i agree | green light | greenlight | you have the green light | clear to proceed
    | run it | run this | run that | run them | run the command | run the commands | run the plan | run the script | execute | execute it | execute that | apply | apply it | apply that | apply them | apply this | apply the change | apply the changes | apply the fix | send it | ship it | shipit | ship itt
    | make it so | make it happen | get it done | get on with it | fire away | full steam ahead
    | lgtm | sgtm | wfm | works for me | that works | sounds good | sounds great | sounds fine | sounds like a plan | sounds good to me
    | looks good | looks great | looks fine | looks ok | looks okay | looks good to me | looks right | seems good | seems fine
    | good idea | great idea | good plan | great plan
    | fine by me | fine with me | ok with me | okay with me | ok by me | okay by me | that's fine by me | that's fine with me | thats fine by me | thats fine with me
    | i'm fine with that | im fine with that | i'm fine with it | i'm ok with that | i'm okay with that | im ok with that | i'm ok with it
    | 👍 | ✅ | ✔ | 👌 | 🆗 | 🫡 | 💯
  `),
  ok: phrases(
    `ok | okay | okey | okei | oki | okie | okie dokie | okey dokey | okk | kk | k | ok ok | alright | allright | all right | alrighty | fine | very well | that's fine | thats fine | that is fine | this is fine | that's ok | that's okay | thats ok | go | go go | go go go`,
  ),
  confirm: phrases(
    'i confirm | i do confirm | i hereby confirm | i confirm it | i confirm this | i confirm that',
  ),
  confirmAlone: phrases('confirm | confirmed'),
  no: [
    ...phrases(`
      no | nope | nop | nah | naw | nay | n | -1 | not | never | non | nein | nyet | no go | no way | hell no | negative | nothing | none | nobody | neither | nor
      | without | cannot | can not | do not | don t | n't | dnot | dotn | odn't | dno't | don'
      | stop | stpo | sotp | wait | wiat | wati | hold | hold on | hold off | hang on | hang fire | halt | abort | cancel | cancle | canceled | cancelled | cancelling
      | skip | pause | quit | later | ltr | not yet | not now | in a bit | in a while | in a minute | in a moment | in a sec
      | one sec | one second | one moment | one minute | just a sec | just a second | just a moment | just a minute | give me a minute | give me a sec | give me a moment
      | a sec | a moment | moment | hang tight | brb | nevermind | never mind | nvm | nm
      | deny | denied | decline | declined | reject | rejected | refuse | refused | forbid | forbidden | veto | disagree | disapprove | disapproved
      | unconfirmed | unapproved | undo | revert | revoke | revoked | withdraw | withdrawn | back off | leave it | leave that | leave them | leave it alone | forget it | forget that | scrap it | scrap that
      | drop it | rather not | better not | avoid | refrain | enough | hands off | thumbs down | ❌ | ✖ | 👎 | 🛑 | ✋ | 🚫 | ⛔ | 🙅 | ⏸ | ❎
    `),
    ...negatedVerbs(
      'do',
      'does',
      'did',
      'ca',
      'wo',
      'would',
      'should',
      'could',
      'is',
      'are',
      'was',
      'were',
      'have',
      'has',
      'had',
      'need',
      'must',
      'ai',
      'might',
    ),
  ],
  denialOpeners: phrases(`
    please don't | please dont | please do not | please stop | please wait | please cancel | please abort | please hold | i don't want | i dont want | i do not want | i don't think so | i dont think so
    | i'd rather not | id rather not | i would rather not | i'd say no | i say no | let's not | lets not | let us not | let's wait | lets wait | let's hold | let's skip | let's stop | better not | rather not | i deny | i decline | i reject | i refuse
    | absolutely not | definitely not | certainly not | of course not | hell no | sorry no | sure not | thumbs down
  `),
  partial: phrases(`
    but | only | except | excepting | besides | apart from | other than | aside from | excluding | minus | just | instead | rather | although | though | however | yet | still
    | first | second | third | fourth | fifth | last | former | latter | 1st | 2nd | 3rd | 4th | 5th | first one | second one | last one | one | two | three | four | five
    | half | some | part | partly | partially | either | or | rest | others | other | remaining | another | next | previous | different | one of | any | each | most | at least | one by one
    | half of it | dry run | dry-run | differently | than
  `),
  condition: phrases(`
    if | iff | unless | once | when | whenever | while | after | afterwards | before | until | till | til | as soon as | as long as | provided | providing | assuming | given | in case | depending | depends
    | tomorrow | tonight | this evening | this afternoon | this morning | morning | evening | night | today | yesterday | monday | tuesday | wednesday | thursday | friday | saturday | sunday | weekend | midnight | noon | next week | soon | eventually | sometime | someday
    | minutes | minute | hour | hours | seconds | days | pm
    | maybe | perhaps | probably | possibly | might | i guess | guess | i think | i suppose | suppose | kinda | sort of | almost | nearly | let me think | let me check | let me see | thinking | not sure | unsure | idk | dunno | whatever
  `),
  asks: phrases(`
    what | what's | whats | why | how | how's | when | where | where's | who | who's | whose | which | should | shall | can | could | would | will | do you | do i | do we | do they | does | did | is | are | was | were | am i | am
    | may i | may we | may | have you | have i | have we | has | had | wdym | huh | hm what | are you sure | u sure | you sure | r u sure
  `),
  filler: phrases(`
    finally | please | pls | plz | plss | pleas | plaese | pleae | kindly | hey | hi | hello | yo | good morning | good evening | nomos | bot | robot | mate | man | buddy | bud | bro | dude | sir | boss | friend | pal | chief | captain | chef | my friend | sorry
    | well | indeed | so | oh | ah | uh | um | hm | hmm | mm | now | right now | right away | straight away | immediately | asap | at once | then | let's | lets | anyway | anyways | regardless | all set
    | i'm sure | im sure | i am sure | quite sure | i'm ready | im ready | i am ready | we're ready | ready | when ready | when you're ready | whenever you're ready | whenever you are ready | whenever ready | as planned | as proposed | as discussed | as described | as you said | as suggested | as shown
    | actually | actually yes | i trust you | trust you | at will | with it | with that | with this | with them
    | it's fine | its fine | it is fine | it's ok | its ok
    | 🙂 | 😀 | 😃 | 😄 | 😁 | 😊 | 😉 | 😅 | 🙏 | 🚀 | 🎉 | 💪 | 🤞 | 🤖 | 🔥 | ✨ | ☕ | ❤ | 🙌 | 👏 | 🥳 | 😎 | 🤝 | 🍀
  `),
  permit: phrases('you can | you may | you can just | you may just | feel free | feel free to'),
  notDenials: phrases(`
    no problem | no problems | no prob | no worries | no worry | no objection | no objections | no issue | no issues | no issue from | no concerns | no doubt | no sweat | no brainer | no idea | no rush | no hurry | no matter
    | not sure | not certain | not quite sure | don't know | dont know | can't wait | cant wait | can't say | can't decide | can't tell | never done | haven't decided | why not
  `),
  thanks: phrases(
    'great | cool | nice | perfect | awesome | excellent | super | lovely | good | very good | all good | brilliant | wonderful | amazing | sweet | wow | right | exactly | correct | makes sense | roger | roger that | copy that | got it | noted | understood | i see | thanks | thank you | thanks a lot | thanks so much | thank you very much | many thanks | thx | tnx | ty | tyvm | cheers | much appreciated | appreciated | appreciate it | ta',
  ),
  report: phrases(`
    let me know | lmk | let me know how it goes | let me know how it went | let me know when it's done | let me know when its done | let me know when it is done | let me know when you're done | let me know when done | let me know once done | let me know once it's done | let me know when finished | let me know when it's finished
    | tell me when it's done | tell me when its done | tell me when done | tell me how it went | tell me how it goes | tell me when you're done | ping me when done | ping me when it's done | ping me when finished | ping me after | report back | report back when done | keep me posted | keep me updated | keep me in the loop
    | show me the result | show me the output | show me the logs after | show me the output after
  `),
  object: phrases(`
    it | its | do the | this | that | that's | these | those | them | the | my | our | your | and | & | with | to | up | for me | for us | again please | as is
    | plan | command | commands | cmd | step | steps | change | changes | thing | stuff | proposal | job | task | action | actions | request | execution | operation | fix | work | script | suggestion
  `),
  preposition: phrases('on | of | in | from | for | to | at | called | named | over | inside'),
  noun: phrases(`
    container | containers | server | servers | service | services | host | hosts | vm | vms | node | nodes | box | machine | machines | database | databases | db | table | tables | config | configuration | package | packages | image | images
    | disk | disks | volume | volumes | dataset | pool | partition | cluster | namespace | pod | pods | daemon | proxy | firewall | rule | rules | certificate | certificates | cert | certs | user | users | directory | folder | file | files | log | logs | snapshot | snapshots | unit | units | lxc | ct | stack | kernel | system | systems
  `),
  action: {
    restart: phrases(
      'restart | restarts | restarting | restarted | reload | reloading | bounce | bouncing | restrat | re-start | restart of',
    ),
    reboot: phrases('reboot | reboots | rebooting | rebooted'),
    shutdown: phrases(
      'shutdown | shut down | shutting down | power off | poweroff | turn off | kill | killing',
    ),
    start: phrases(
      'start | starting | boot | launch | launching | bring up | kick off | kick it off | turn on',
    ),
    upgrade: phrases(
      'upgrade | upgrades | upgrading | upgarde | update | updates | updating | patch | patching | dist-upgrade | full-upgrade',
    ),
    install: phrases('install | installing | installation | set up | setup'),
    delete: phrases(`
      delete | deleting | deletion | deletions | deletes | remove | removing | removal | destroy | destroying | destruction | wipe | wiping | wipe out | erase | erasing | erasure | purge | purging | drop | dropping | prune | pruning
      | uninstall | uninstalling | format | formatting | truncate | truncating | clean up | cleanup | cleaning up | delet | nuke | nuking | tear down | teardown
    `),
    create: phrases(
      'create | creating | creation | provision | provisioning | add | adding | make',
    ),
    deploy: phrases('deploy | deploying | deployment | roll out | rollout | release'),
    move: phrases(
      'move | moving | migrate | migrating | migration | rename | renaming | copy | copying',
    ),
    resize: phrases('resize | resizing | extend | extending | grow | shrink | expand | expanding'),
    backup: phrases('backup | back up | backing up | dump | snapshotting'),
    restore: phrases('restore | restoring | rollback | roll back | recover | recovery'),
    enable: phrases('enable | enabling | activate | activating'),
    disable: phrases('disable | disabling | deactivate | mask'),
    change: phrases(
      'edit | editing | modify | modifying | fix it | fixing | repair | repairing | set it | configure | configuring | replace | replacing | rotate | rotating | renew | renewing | chmod | chown | write | writing',
    ),
  },
  all: phrases(
    'all | all of it | all of them | all of this | all of that | all of these | all of those | everything | them all | the lot | the whole lot | whole thing | the whole thing | the whole plan | the entire plan | whole plan | entire plan | full plan | the full plan | every one | all steps | all the steps',
  ),
  count: {
    both: 2,
    'both of them': 2,
    'do both': 2,
    'all three': 3,
    'all 3': 3,
    'all four': 4,
    'all 4': 4,
    'all five': 5,
    'all 5': 5,
    'all two': 2,
  },
  statement: phrases(`
    please approve | pls approve | approve please | approve pls | someone approve
    | i | you | we | they | he | she | i'm | i've | you've | is | are | was | were | be | been | being | has | have | had | does | did | can | will | said | says | told | looks | seems | works | worked | working | finished | done | ran | runs | running | failed | fails | went | got | saw | see | happened | exists
    | receipt | received | attendance | reading | seeing | full | empty | ok now | crashed | down | broken | gone | fine now | healthy | alive | successful | succeeded | complete | completed
  `),
};
